"""A small subspace of the DivBO paper's, of pipelines that fit in milliseconds, for tests."""

from functools import cached_property

from ensemble_search.spaces.divbo import Divbo


class DivboSmall(Divbo):
    """Five fast classifiers, three rescalers and three preprocessors of :class:`Divbo`."""

    @cached_property
    def stages(self):
        """As in :class:`Divbo`."""
        from ensemble_search.learners import classifiers, preprocessors, rescalers

        return {
            "rescaler": (rescalers.none, rescalers.standard, rescalers.robust),
            "preprocessor": (
                preprocessors.none,
                preprocessors.pca,
                preprocessors.select_percentile,
            ),
            "algorithm": (
                classifiers.knn,
                classifiers.lda,
                classifiers.qda,
                classifiers.liblinear_svc,
                classifiers.libsvm_svc,
            ),
        }
