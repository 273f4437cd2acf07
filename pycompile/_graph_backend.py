"""The built-in backends that are Python: the runtime takes them from here by name."""

from pycompile._eager import backend as eager

__all__ = ["eager"]
