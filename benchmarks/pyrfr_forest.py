"""pyrfr's forest with OpenBox's settings, in OpenBox's environment (`make peers`).

    .venv-openbox/bin/python benchmarks/pyrfr_forest.py in.npz out.npz

``in.npz`` holds ``vectors`` (n, n_hyperparameters), ``errors`` (n,), ``categories``
(n_hyperparameters,), ``candidates`` (m, n_hyperparameters) and ``seed``. ``out.npz`` receives
``mean`` and ``std`` of the candidates, each (m,).
"""

import argparse

import numpy as np

LARGEST = 2**20
VARIANCE = 1e-5  # minimum


def predict(vectors, errors, categories, candidates, seed) -> tuple[np.ndarray, np.ndarray]:
    from pyrfr import regression

    data = regression.default_data_container(vectors.shape[1])
    for i, number in enumerate(categories.tolist()):
        if number:
            data.set_type_of_feature(i, number)
        else:
            data.set_bounds_of_feature(i, 0.0, 1.0)
    for vector, error in zip(vectors.tolist(), errors.tolist(), strict=True):
        data.add_data_point(vector, error)
    options = regression.forest_opts()
    options.num_trees = 10
    options.do_bootstrapping = True
    options.num_data_points_per_tree = len(vectors)
    options.compute_law_of_total_variance = False
    options.tree_opts.max_features = int(vectors.shape[1] * 5 / 6)
    options.tree_opts.min_samples_to_split = 3
    options.tree_opts.min_samples_in_leaf = 3
    options.tree_opts.max_depth = options.tree_opts.max_num_nodes = LARGEST
    options.tree_opts.epsilon_purity = 1e-8
    forest = regression.binary_rss_forest()
    forest.options = options
    forest.fit(data, rng=regression.default_random_engine(int(seed)))
    found = np.array([forest.predict_mean_var(vector) for vector in candidates.tolist()])
    return found[:, 0], np.sqrt(np.maximum(np.nan_to_num(found[:, 1]), VARIANCE))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("input")
    parser.add_argument("output")
    options = parser.parse_args()
    with np.load(options.input, allow_pickle=False) as arrays:
        names = ("vectors", "errors", "categories", "candidates", "seed")
        mean, std = predict(*(arrays[name] for name in names))
    np.savez(options.output, mean=mean, std=std)


if __name__ == "__main__":
    main()
