"""A small part of the DivBO paper's space: pipelines that fit in milliseconds, for tests."""

from typing import ClassVar

from divbo.learners import classifiers, preprocessors, rescalers
from divbo.space.divbo import Divbo


class DivboSmall(Divbo):
    """Five fast classifiers, three rescalers and three preprocessors of :class:`Divbo`."""

    stages: ClassVar = {
        "rescaler": (rescalers.none, rescalers.standard, rescalers.robust),
        "preprocessor": (preprocessors.none, preprocessors.pca, preprocessors.select_percentile),
        "algorithm": (
            classifiers.knn,
            classifiers.lda,
            classifiers.qda,
            classifiers.liblinear_svc,
            classifiers.libsvm_svc,
        ),
    }
