package p
import data.p as me
f(n) := me.f(n)
allow if f(1)
