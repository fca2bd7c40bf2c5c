export const core = {};
const widget = {render(){}};
export default widget;
