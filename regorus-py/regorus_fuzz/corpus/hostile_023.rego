package p
x := abs(abs(abs(abs(abs(abs(abs(abs(abs(1)))))))))
