"""The hyperparameters of the DivBO paper, written down a second time, and how to compare them."""

import ConfigSpace
from ConfigSpace import OrdinalHyperparameter

#: Rescalers and the numbers of their hyperparameters.
RESCALERS = {"none": 0, "minmax": 0, "normalizer": 0, "standard": 0, "quantile": 2, "robust": 2}

#: DivBO paper, Tables 6 and 7, written down a second time: domain = default.
DOMAINS = """
adaboost:n_estimators I[50,500] = 50
adaboost:learning_rate logU[0.01,2] = 0.1
adaboost:algorithm {SAMME.R,SAMME} = SAMME.R
adaboost:max_depth I[2,8] = 3
random_forest:criterion {gini,entropy} = gini
random_forest:max_features U[0,1] = 0.5
random_forest:min_samples_split I[2,20] = 2
random_forest:min_samples_leaf I[1,20] = 1
random_forest:bootstrap {True,False} = True
extra_trees:criterion {gini,entropy} = gini
extra_trees:max_features U[0,1] = 0.5
extra_trees:min_samples_split I[2,20] = 2
extra_trees:min_samples_leaf I[1,20] = 1
extra_trees:bootstrap {True,False} = False
gradient_boosting:learning_rate logU[0.01,1] = 0.1
gradient_boosting:max_depth I[1,8] = 3
gradient_boosting:criterion {friedman_mse,mse} = mse
gradient_boosting:min_samples_split I[2,20] = 2
gradient_boosting:min_samples_leaf I[1,20] = 1
gradient_boosting:subsample U[0.01,1] = 1
gradient_boosting:max_features U[0.1,1] = 1
knn:n_neighbors logI[1,100] = 1
knn:weights {uniform,distance} = uniform
lda:shrinkage {none,auto,manual} = none
lda:shrinkage_factor U[0,1] = 0.5
lda:n_components I[1,250] = 1
lda:tol logU[1e-05,0.1] = 0.0001
qda:reg_param U[0,1] = 0
logistic_regression:C logU[0.03125,10] = 1
logistic_regression:tol logU[1e-06,0.01] = 0.0001
logistic_regression:penalty {l1,l2} = l2
logistic_regression:solver {liblinear,saga} = liblinear
liblinear_svc:penalty {l1,l2} = l2
liblinear_svc:loss {hinge,squared_hinge} = squared_hinge
liblinear_svc:dual {True,False} = True
liblinear_svc:tol logU[1e-05,0.1] = 0.0001
liblinear_svc:C logU[0.03125,32768] = 1
libsvm_svc:C logU[0.03125,32768] = 1
libsvm_svc:kernel {rbf,poly,sigmoid} = rbf
libsvm_svc:degree I[2,5] = 3
libsvm_svc:gamma logU[3.05176e-05,8] = 0.1
libsvm_svc:coef0 U[-1,1] = 0
libsvm_svc:shrinking {True,False} = True
libsvm_svc:tol logU[1e-05,0.1] = 0.001
lightgbm:n_estimators O[100,150,200,250,300,350,400,450,500,550,600,650,700,750,800,850,900,950,1000] = 500
lightgbm:num_leaves I[31,2047] = 128
lightgbm:learning_rate logU[0.001,0.3] = 0.1
lightgbm:min_child_samples I[5,30] = 20
lightgbm:subsample O[0.7,0.8,0.9,1.0] = 1
lightgbm:colsample_bytree O[0.7,0.8,0.9,1.0] = 1
quantile:n_quantiles I[10,2000] = 1000
quantile:output_distribution {uniform,normal} = uniform
robust:q_min U[0.001,0.3] = 0.25
robust:q_max U[0.7,0.999] = 0.75
cross_features:random_state I[1,100000] = 1
fast_ica:algorithm {parallel,deflation} = parallel
fast_ica:whiten {False,True} = False
fast_ica:fun {logcosh,exp,cube} = logcosh
fast_ica:n_components I[10,2000] = 100
feature_agglomeration:n_clusters I[2,400] = 25
feature_agglomeration:affinity {euclidean,manhattan,cosine} = euclidean
feature_agglomeration:linkage {ward,complete,average} = ward
feature_agglomeration:pooling_func {mean,median,max} = mean
kernel_pca:n_components I[10,2000] = 100
kernel_pca:kernel {poly,rbf,sigmoid,cosine} = rbf
kernel_pca:gamma logU[3.05176e-05,8] = 1
kernel_pca:degree I[2,5] = 3
kernel_pca:coef0 U[-1,1] = 0
kitchen_sinks:gamma logU[3.05176e-05,8] = 1
kitchen_sinks:n_components logI[50,5000] = 100
lda_decomposer:shrinkage {none,auto} = none
nystroem:kernel {poly,rbf,sigmoid,cosine,chi2} = rbf
nystroem:n_components logI[50,5000] = 100
nystroem:gamma logU[3.05176e-05,8] = 0.1
nystroem:degree I[2,5] = 3
nystroem:coef0 U[-1,1] = 0
pca:keep_variance U[0.5,0.9999] = 0.9999
pca:whiten {False,True} = False
polynomial:degree I[2,3] = 2
polynomial:interaction_only {False,True} = False
random_trees_embedding:n_estimators I[10,100] = 10
random_trees_embedding:max_depth I[2,10] = 5
random_trees_embedding:min_samples_split I[2,20] = 2
random_trees_embedding:min_samples_leaf I[1,20] = 1
random_trees_embedding:bootstrap {True,False} = True
svd:target_dim I[10,256] = 128
select_percentile:percentile U[5,99] = 50
select_percentile:score_func {chi2,f_classif,mutual_info} = chi2
select_generic_univariate:alpha U[0.01,0.5] = 0.1
select_generic_univariate:score_func {chi2,f_classif} = chi2
select_generic_univariate:mode {fpr,fdr,fwe} = fpr
extra_trees_selector:criterion {gini,entropy} = gini
extra_trees_selector:max_features O[0.0,0.05,0.1,0.15,0.2,0.25,0.3,0.35,0.4,0.45,0.5,0.55,0.6,0.65,0.7,0.75,0.8,0.85,0.9,0.95,1.0] = 0.5
extra_trees_selector:min_samples_split I[2,20] = 2
extra_trees_selector:min_samples_leaf I[1,20] = 1
extra_trees_selector:bootstrap {True,False} = False
liblinear_selector:penalty {l1,l2} = l1
liblinear_selector:loss {hinge,squared_hinge} = squared_hinge
liblinear_selector:dual {True,False} = False
liblinear_selector:tol logU[1e-05,0.1] = 0.0001
liblinear_selector:C logU[0.03125,32768] = 1
"""  # noqa: E501


def described(hyperparameter) -> str:
    """Write a domain and its default as :data:`DOMAINS` does."""
    default = hyperparameter.default_value
    if isinstance(hyperparameter, ConfigSpace.CategoricalHyperparameter):
        return "{" + ",".join(map(str, hyperparameter.choices)) + "} = " + str(default)
    if isinstance(hyperparameter, OrdinalHyperparameter):
        return "O[" + ",".join(map(str, hyperparameter.sequence)) + f"] = {default:.12g}"
    kind = "I" if isinstance(hyperparameter, ConfigSpace.UniformIntegerHyperparameter) else "U"
    bounds = f"[{hyperparameter.lower:.6g},{hyperparameter.upper:.6g}]"
    return "log" * hyperparameter.log + kind + bounds + f" = {default:.12g}"


def domains(text: str) -> dict[str, str]:
    """Read lines of a name and a domain."""
    return dict(line.split(" ", 1) for line in text.strip().splitlines())
