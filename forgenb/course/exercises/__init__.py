"""The judges of all exercises, a file a chapter; importing this fills `forgenb.course.exercise.EXERCISES`."""

from . import arrays as arrays
from . import attention as attention
from . import checking as checking
from . import convolution as convolution
from . import dropout as dropout
from . import embeddings as embeddings
from . import gelu as gelu
from . import gpt as gpt
from . import inside as inside
from . import kernels as kernels
from . import layernorm as layernorm
from . import matmul as matmul
from . import optimisers as optimisers
from . import parallel as parallel
from . import routines as routines
from . import saving as saving
from . import scalar_tape as scalar_tape
from . import slopes as slopes
from . import softmax as softmax
from . import speed as speed
from . import ten_minutes as ten_minutes
from . import your_backend as your_backend
from . import your_op as your_op
