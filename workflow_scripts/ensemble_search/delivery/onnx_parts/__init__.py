"""ONNX graphs, and the parts of pipelines in them, in double precision."""
