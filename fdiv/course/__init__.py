"""The course: what a lesson needs to teach, draw and check itself; names are imported when first used."""

from fdiv.names import lazily

__getattr__, __dir__, __all__ = lazily(
    "fdiv.course",
    {
        "lesson": ("ClaimError", "check_parameters", "claim", "seed_everything", "show_environment"),
        "prediction": ("Prediction", "predict"),
        "exercises": tuple(f"nb{number:02}" for number in range(15)),
        "errata": ("errata_table", "kind_of", "tex"),
        "controls": ("LiveFigure", "explore"),
        "watch": ("kept_folder", "log_epoch", "trained", "watched", "watched_together"),
        "samples": ("CLOTHES", "THINGS", "image_samples", "photographs", "photographs_figure"),
        "figures": (
            "bars_figure",
            "beside_figure",
            "curves_figure",
            "images_figure",
            "line_style",
            "matrix_figure",
            "noise_figure",
            "panels_figure",
            "ranges_figure",
            "robustness_figure",
            "shares_figure",
            "simplex_figure",
            "with_slider",
        ),
        "own_figures": ("answers_figure", "precision_and_recall", "threshold_figure"),
        "ranks": ("accuracies_figure", "ranks_figure"),
        "widgets": ("classifier_plane", "memorisation_machine", "t_editor"),
    },
)
