; A WASI command without a library: three loops of known size.
;   axpy    100 turns of 1 multiplication and 1 addition of 4 lanes of f32: 800
;   dot     1000 turns of 1 multiplication and 1 addition of f64:          2000
;   sqrt    10 turns of 1 square root and 1 division of f64:                 20
; It traps if a result is wrong. Sum: 2820.
target triple = "wasm32-unknown-unknown"

declare double @llvm.sqrt.f64(double)
declare void @llvm.trap() noreturn

@lanes = global <4 x float> zeroinitializer, align 16
@sum = global double 0.0, align 8

define void @axpy() noinline {
entry:
  br label %turn
turn:
  %i = phi i32 [0, %entry], [%i1, %turn]
  %y = load volatile <4 x float>, <4 x float>* @lanes
  %x = fmul <4 x float> %y, <float 0.5, float 0.25, float 0.125, float 0.0>
  %z = fadd <4 x float> %x, <float 1.0, float 1.0, float 1.0, float 1.0>
  store volatile <4 x float> %z, <4 x float>* @lanes
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 100
  br i1 %more, label %turn, label %done
done:
  ret void
}

define void @dot() noinline {
entry:
  br label %turn
turn:
  %i = phi i32 [0, %entry], [%i1, %turn]
  %s = load volatile double, double* @sum
  %m = fmul double %s, 0.5
  %t = fadd double %m, 1.0
  store volatile double %t, double* @sum
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 1000
  br i1 %more, label %turn, label %done
done:
  ret void
}

define void @root() noinline {
entry:
  br label %turn
turn:
  %i = phi i32 [0, %entry], [%i1, %turn]
  %s = load volatile double, double* @sum
  %r = call double @llvm.sqrt.f64(double %s)
  %t = fdiv double %s, %r
  store volatile double %t, double* @sum
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, 10
  br i1 %more, label %turn, label %done
done:
  ret void
}

define void @_start() {
entry:
  call void @axpy()
  call void @dot()
  %s = load volatile double, double* @sum
  %same = fcmp oeq double %s, 2.0
  br i1 %same, label %next, label %wrong
next:
  call void @root()
  %v = load volatile <4 x float>, <4 x float>* @lanes
  %l = extractelement <4 x float> %v, i32 3
  %one = fcmp oeq float %l, 1.0
  br i1 %one, label %done, label %wrong
wrong:
  call void @llvm.trap()
  unreachable
done:
  ret void
}
