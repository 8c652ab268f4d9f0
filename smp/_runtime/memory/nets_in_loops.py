"""Packets in compiled loops: the type of ``proc.net``, and what the functions do; imported together with Numba.

A loop is given one integer for the argument, the address of the private words of LEFT.  The rest is ``loop_packets``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.types.misc import Omitted
from numba.extending import NativeValue, make_attribute_wrapper, models, register_model, unbox

from smp.errors import Aborted

from ..loops.atomics import call_at
from ..loops.compiler import inline, merged, overloads
from ..protocols import loop_packets, rings
from ..protocols.loop_packets import words_of
from ..protocols.message_waits import OWN, RIGHT_AT, STATE_AT, WAIT
from ..protocols.rings import SLOTS
from ..protocols.wait import OK
from . import net_functions as functions
from .nets import LEFT, Net


class NetType(types.Type):
    """The networks of a processor."""

    def __init__(self) -> None:
        super().__init__(name="Net")


@register_model(NetType)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: NetType) -> None:
        super().__init__(manager, kind, [("left", types.int64)])


make_attribute_wrapper(NetType, "left", "_left")
_NET = NetType()
Net._numba_type_ = property(lambda net: _NET)  # type: ignore[attr-defined]


@unbox(NetType)  # type: ignore[untyped-decorator]
def _unbox(kind: NetType, net: Any, context: Any) -> NativeValue:
    """Get the address, in the thread that calls the loop; an error of ``_native`` is that of the call."""
    builder = context.builder
    struct = cgutils.create_struct_proxy(kind)(context.context, builder)
    failed = cgutils.alloca_once_value(builder, cgutils.true_bit)
    number = context.pyapi.object_getattr_string(net, "_native")
    with builder.if_then(cgutils.is_not_null(builder, number)):
        native = context.unbox(types.int64, number)
        struct.left = native.value
        context.pyapi.decref(number)
        builder.store(native.is_error, failed)
    return NativeValue(struct._getvalue(), is_error=builder.load(failed))


@merged
def _words(net: Any, on: int) -> Any:
    """Return the private words of a network."""
    left = words_of(net._left)
    return left if on == LEFT else words_of(left[RIGHT_AT])


@inline
def _waited(net: Any, wanted: int, to: int) -> None:
    """Wait as `loop_packets.await_packet` does."""
    left = words_of(net._left)
    if call_at(left[WAIT], left[STATE_AT], left[OWN], wanted, to, 0) != OK:
        raise Aborted


def _posts(net: Any, on: Any, to: Any, kind: Any, a: Any = 0, b: Any = 0, c: Any = 0, d: Any = 0) -> Callable[..., Any]:
    for word in (a, b, c, d):
        if not isinstance(word, int | types.Integer | Omitted):
            raise TypingError(f"a packet carries int64 words, not a value of type {word}")

    def call(net: Any, on: Any, to: Any, kind: Any, a: Any = 0, b: Any = 0, c: Any = 0, d: Any = 0) -> Any:
        return loop_packets.post(_words(net, on), to, kind, a, b, c, d)

    return call


def _polls(net: Any, on: Any) -> Callable[..., Any]:
    def call(net: Any, on: Any) -> Any:
        return loop_packets.poll(_words(net, on))

    return call


def _rooms(net: Any, on: Any, to: Any) -> Callable[..., Any]:
    def call(net: Any, on: Any, to: Any) -> Any:
        words = _words(net, on)
        return rings.room(words, to, words[SLOTS])

    return call


overloads(functions.try_post, _posts, always_inlined=True)
overloads(functions.try_poll, _polls, always_inlined=True)
overloads(functions.room, _rooms)
overloads(functions.await_packet, lambda net, on=3: lambda net, on=3: _waited(net, on, 0))
overloads(
    functions.await_room,
    lambda net, on, to, polling=3: lambda net, on, to, polling=3: _waited(net, polling + 4 * on, to),
)
