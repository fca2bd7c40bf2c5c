// On a narrow screen a figure with one pair of axes has its legend below, not beside it, and a title in two lines.
const narrow = matchMedia("(max-width: 40rem)");
const folded = (text) => text.replace(/^(.{20,42}) (.+)$/, (whole, first, rest) => (whole.length > 42 ? `${first}<br>${rest}` : whole));
function fitFigures() {
  for (const figure of document.querySelectorAll(".fits .plotly-graph-div")) {
    const { legend = {}, height = figure.clientHeight, title = {} } = figure.layout;
    figure.wide ??= structuredClone({ legend, height, "title.text": title.text ?? "" });
    const names = figure.querySelectorAll(".legendtext").length;
    const slim = {
      legend: { orientation: "h", x: 0, y: -0.3, yanchor: "top" },
      height: figure.wide.height + 22 * names,
      "title.text": folded(figure.wide["title.text"]),
    };
    Plotly.relayout(figure, narrow.matches ? slim : figure.wide);
  }
}
narrow.addEventListener("change", fitFigures);
if (narrow.matches) fitFigures();
