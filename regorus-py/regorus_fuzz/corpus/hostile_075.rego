package p
f0(x) := [[[[x]]]]
f1(x) := f0(f0(f0(f0(x))))
f2(x) := f1(f1(f1(f1(x))))
f3(x) := f2(f2(f2(f2(x))))
f4(x) := f3(f3(f3(f3(x))))
f5(x) := f4(f4(f4(f4(x))))
f6(x) := f5(f5(f5(f5(x))))
f7(x) := f6(f6(f6(f6(x))))
f8(x) := f7(f7(f7(f7(x))))
f9(x) := f8(f8(f8(f8(x))))
f10(x) := f9(f9(f9(f9(x))))
f11(x) := f10(f10(f10(f10(x))))
allow if f11(1) == f11(2)
