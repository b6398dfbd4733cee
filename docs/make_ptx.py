"""Write docs/ptx.md, the table of what each kernel takes on a GPU: ``python docs/make_ptx.py``. No GPU is needed."""

from pathlib import Path

from forgenb_cuda.table import page

from forgenb.testing.declared import all_kernels

if __name__ == "__main__":
    Path(__file__).with_name("ptx.md").write_text(page(all_kernels().values()), encoding="utf-8")
