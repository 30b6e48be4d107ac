"""Parts of pipelines that skl2onnx does not convert, or not correctly in double precision."""
