"""A small subspace of the DivBO paper's, for tests: its pipelines fit in milliseconds."""

from functools import cached_property

from ensemble_search.spaces.divbo import Divbo


class DivboSmall(Divbo):
    """Five fast learners, three rescalers and three preprocessors of :class:`Divbo`."""

    @cached_property
    def stages(self):
        """As in :class:`Divbo`."""
        from ensemble_search.learners import (
            classifiers,
            preprocessors,
            regression_preprocessors,
            regressors,
            rescalers,
        )

        selection, learners = {
            "classification": (
                preprocessors.select_percentile,
                (
                    classifiers.knn,
                    classifiers.lda,
                    classifiers.qda,
                    classifiers.liblinear_svc,
                    classifiers.libsvm_svc,
                ),
            ),
            "regression": (
                regression_preprocessors.select_percentile,
                (
                    regressors.knn,
                    regressors.ridge,
                    regressors.elastic_net,
                    regressors.liblinear_svr,
                    regressors.libsvm_svr,
                ),
            ),
        }[self.task]
        return {
            "rescaler": (rescalers.none, rescalers.standard, rescalers.robust),
            "preprocessor": (preprocessors.none, preprocessors.pca, selection),
            "algorithm": learners,
        }
