"""Plugins that share a file, by kind and name: ``<module>:<class>``."""

SHARED = {
    "metrics": {
        "absolute-error": "_regression:AbsoluteError",
        "auc": "_ranking:Auc",
        "average-precision": "_ranking:AveragePrecision",
        "f1": "_confusion:F1",
        "matthews": "_confusion:Matthews",
        "pinball-10": "_regression:Pinball10",
        "pinball-90": "_regression:Pinball90",
        "r2": "_regression:R2",
        "rmse": "_regression:Rmse",
    },
    "optimizers": {
        "hyperband": "_brackets:Hyperband",
        "successive-halving": "_brackets:SuccessiveHalving",
    },
    "spaces": {
        "boasf": "_boasf:Boasf",
        "boasf-logistic": "_boasf:BoasfLogistic",
        "gradient-boosting": "_esmbo:GradientBoosting",
        "logistic-regression-hpo": "_boasf:LogisticRegressionHpo",
        "mlp": "_esmbo:Mlp",
        "neural-easy": "_dodge:NeuralEasy",
        "neural-hard": "_dodge:NeuralHard",
        "neural-medium": "_dodge:NeuralMedium",
        "neural-stable": "_dodge:NeuralStable",
        "random-forest": "_esmbo:RandomForest",
        "random-forest-hpo": "_boasf:RandomForestHpo",
        "svm": "_esmbo:Svm",
        "svr": "_esmbo:Svr",
    },
    "surrogates": {
        "lightgbm-pairs": "_on_pairs:LightGBMPairs",
        "lightgbm-single": "_on_pairs:LightGBMSingle",
        "random-forest-pairs": "_on_pairs:RandomForestPairs",
    },
}
