"""What each figure shows, in words, for readers who cannot see it: reports give these texts.

They say what is drawn, whatever the results are. They are apart from what draws, which takes
seconds to import.
"""

from __future__ import annotations

_SAMPLES = (
    "a panel for each dimension D, number of factors K and spectrum, a line for each algorithm"
)
_EPOCHS = "a panel for each dataset and number of factors K, a line for each algorithm"

ALTERNATIVE_TEXTS = {
    "figure_5_1": "Relative Frobenius distance of estimated covariances from the true one, against "
    f"the number of samples T, both on logarithmic axes: {_SAMPLES}. Lower is better.",
    "figure_5_2": "2-Wasserstein distance of estimated Gaussians from the true one, against the "
    f"number of samples T, both on logarithmic axes: {_SAMPLES}. Lower is better.",
    "time": "Relative Frobenius distance of estimated covariances from the true one, against the "
    f"seconds that fits take, both on logarithmic axes: {_SAMPLES}. Lower and further left is "
    "better.",
    "eigenvalues": "Relative Frobenius distance of estimated covariances from the true one, "
    "against the number of samples T, for models whose eigenvalues are set: a panel for each "
    "range of eigenvalues, a line for each algorithm. Lower is better.",
    "components": "Number of factors that an algorithm finds, against the number of samples T: a "
    "panel for each dimension D, a line for each true number, which is dotted.",
    "scale": "Relative Frobenius distance of estimated covariances from the true one, against the "
    "number that all observations are multiplied by, a line for each algorithm. Units do not "
    "matter to an algorithm whose line is flat.",
    "change": "Relative Frobenius distance of estimated covariances from that of the moment, "
    "against the number of samples T, a line for each algorithm. A dotted vertical line is where "
    "the true model is replaced by another.",
    "figure_6_1": "Relative distance of estimated means from the posterior mean, against epochs of "
    f"SGD: {_EPOCHS}. Lower is better.",
    "figure_6_2": "Relative Frobenius distance of estimated covariances from that of the "
    f"posterior, against epochs of SGD: {_EPOCHS}. Lower is better.",
    "figure_6_3": "2-Wasserstein distance of estimates from the posterior, against epochs of SGD: "
    f"{_EPOCHS}. A dotted line is the distance of the law that SGD itself settles into.",
    "figure_6_4": "Heat maps of the posterior covariance of the weights and of what each algorithm "
    "estimates, above; the same as correlations, below.",
    "figure_6_5": "Estimated against posterior means, on the left, and variances, on the right: a "
    "point for each weight and algorithm, and a dotted diagonal on which what is right would lie.",
    "figure_6_6": "Stacked bars of the steps from the posterior to an estimate, in 2-Wasserstein "
    "distances: SGD's law, a finite walk, rank K, and the algorithm; a panel for each dataset and "
    "walk, a bar for each algorithm.",
    "figure_6_7": "Ellipses that hold 95 % of the posterior of two weights and of each "
    "approximation, over the walk of SGD: a panel for each learning rate.",
    "figure_7_1": "Bands of two standard deviations around the mean of a function with a gap in "
    "its data: a panel for each posterior of networks, drawn over the band of the Gaussian "
    "process.",
    "figure_7_2": "Three distances of posteriors of networks from the Gaussian process, against "
    "the number of hidden units: a row of panels for each dataset, a column for the distribution, "
    "the mean and the standard deviation, a line for each posterior.",
    "figure_7_3": "2-Wasserstein distance of approximations by features from the exact Gaussian "
    "process, against the number of features: a panel for each dataset, a line for each kind of "
    "feature. Lower is better.",
    "network": "Test negative log-likelihoods of networks with their standard errors: a panel for "
    "each dataset, a line for each posterior. Further left is better.",
    "calibration": "Share of targets below a predicted level less that level, against the level: a "
    "panel for each dataset, a line for each posterior. Zero is calibrated.",
    "reliability": "Accuracy less confidence of predicted digits, against confidence, above, and "
    "the share of images with such a confidence, below: a line for each posterior. Above zero is "
    "too timid, below it too bold.",
    "gp_ranks": "Critical-difference diagram: average ranks of posteriors by their distance from "
    "the Gaussian process on a line, the best on the left, and bars that join those that were not "
    "shown to differ.",
    "network_ranks": "Critical-difference diagram: average ranks of posteriors by their test "
    "likelihood on a line, the best on the left, and bars that join those that were not shown to "
    "differ.",
}


def alternative_text(figure: str, dataset: str = "") -> str:
    """What a figure shows, or its picture of one dataset."""
    text = ALTERNATIVE_TEXTS[figure]
    return f"{text} Dataset: {dataset.replace('_', ' ')}." if dataset else text
