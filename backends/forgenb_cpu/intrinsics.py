from numba.extending import intrinsic
from llvmlite import ir
import math
import numpy as np
@intrinsic
def accumulate(tc,a,b):
    def build(c,builder,s,args): return builder.fadd(args[0],args[1],flags=("reassoc",))
    return a(a,a),build
def lanes(n): return range(np.uint64(n))
def lane_sum(s): return s
def sqrt(s): return math.sqrt(s)
def put(a,i,v): a[i]=v
def primitives_for(dtype):
    def real(n): return dtype_(n)
    r = type(real)(real.__code__, {"dtype_":dtype}, "real")
    return dict(accumulate=accumulate,lanes=lanes,lane_sum=lane_sum,sqrt=sqrt,put=put,real=r)
def half_conversions(d): return {}
