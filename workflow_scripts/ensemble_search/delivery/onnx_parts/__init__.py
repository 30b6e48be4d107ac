"""Parts of pipelines that skl2onnx does not convert, or not rightly in double precision."""
