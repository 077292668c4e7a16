;; Passes over the markup of a body that no link can come from: text, and tags of no interest that are as they should be.
;; Of 64 characters it is found in one go where those stand that mean something, a bit each; the rest is done with these
;; bits, since what can't be foretold, how long a name is, say, costs more than to look at characters that do not matter.
;; `tag-skipper.ts` says what is kept where, and goes on where this stops. `npm run wasm` makes `skip-code.ts` of it.
(module
  (import "own" "memory" (memory 69 69))

  ;; $at: where to begin, within text; $last: where the last `>` stands that is known, behind $at. Both are addresses, as is
  ;; the result: the first `<` that somebody else has to look at, or the place behind $last.
  ;; $flags: 1 a form is open, 2 style attributes count, 4 the text of a link is open.
  (func (export "skip") (param $at i32) (param $last i32) (param $flags i32) (result i32)
    (local $part0 v128) (local $part1 v128) (local $part2 v128) (local $part3 v128)
    (local $lt_code v128) (local $gt_code v128) (local $quote_code v128) (local $apostrophe_code v128)
    (local $equals_code v128) (local $space_code v128) (local $lf_code v128)
    (local $lt i64) (local $gt i64) (local $quote i64) (local $apostrophe i64) (local $equals i64) (local $space i64)
    (local $from i64) (local $end i64) (local $open i64) (local $close i64)
    (local $tag i32) (local $code i32) (local $place i32)
    (local.set $lt_code (i8x16.splat (i32.const 60)))
    (local.set $gt_code (i8x16.splat (i32.const 62)))
    (local.set $quote_code (i8x16.splat (i32.const 34)))
    (local.set $apostrophe_code (i8x16.splat (i32.const 39)))
    (local.set $equals_code (i8x16.splat (i32.const 61)))
    (local.set $space_code (i8x16.splat (i32.const 32)))
    (local.set $lf_code (i8x16.splat (i32.const 10)))
    (loop $block
      (if (i32.ge_u (local.get $at) (local.get $last)) (then (return (i32.add (local.get $last) (i32.const 2)))))
      ;; Characters that don't fit into a byte become 255 or 0, which mean nothing.
      (local.set $part0 (i8x16.narrow_i16x8_u (v128.load (local.get $at)) (v128.load offset=16 (local.get $at))))
      (local.set $part1 (i8x16.narrow_i16x8_u (v128.load offset=32 (local.get $at)) (v128.load offset=48 (local.get $at))))
      (local.set $part2 (i8x16.narrow_i16x8_u (v128.load offset=64 (local.get $at)) (v128.load offset=80 (local.get $at))))
      (local.set $part3 (i8x16.narrow_i16x8_u (v128.load offset=96 (local.get $at)) (v128.load offset=112 (local.get $at))))
      (local.set $lt
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part0) (local.get $lt_code))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part1) (local.get $lt_code)))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part2) (local.get $lt_code)))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part3) (local.get $lt_code)))) (i64.const 48)))))
      (local.set $gt
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part0) (local.get $gt_code))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part1) (local.get $gt_code)))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part2) (local.get $gt_code)))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part3) (local.get $gt_code)))) (i64.const 48)))))
      (local.set $quote
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part0) (local.get $quote_code))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part1) (local.get $quote_code)))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part2) (local.get $quote_code)))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part3) (local.get $quote_code)))) (i64.const 48)))))
      (local.set $apostrophe
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part0) (local.get $apostrophe_code))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part1) (local.get $apostrophe_code)))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part2) (local.get $apostrophe_code)))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part3) (local.get $apostrophe_code)))) (i64.const 48)))))
      (local.set $equals
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part0) (local.get $equals_code))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part1) (local.get $equals_code)))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part2) (local.get $equals_code)))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (i8x16.eq (local.get $part3) (local.get $equals_code)))) (i64.const 48)))))
      (local.set $space
        (i64.or
          (i64.or
            (i64.extend_i32_u (i8x16.bitmask (v128.or (i8x16.eq (local.get $part0) (local.get $space_code)) (i8x16.eq (local.get $part0) (local.get $lf_code)))))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (v128.or (i8x16.eq (local.get $part1) (local.get $space_code)) (i8x16.eq (local.get $part1) (local.get $lf_code))))) (i64.const 16)))
          (i64.or
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (v128.or (i8x16.eq (local.get $part2) (local.get $space_code)) (i8x16.eq (local.get $part2) (local.get $lf_code))))) (i64.const 32))
            (i64.shl (i64.extend_i32_u (i8x16.bitmask (v128.or (i8x16.eq (local.get $part3) (local.get $space_code)) (i8x16.eq (local.get $part3) (local.get $lf_code))))) (i64.const 48)))))
      ;; What is behind $last is not known.
      (if (i32.lt_u (i32.sub (local.get $last) (local.get $at)) (i32.const 128))
        (then
          (local.set $from
            (i64.sub
              (i64.shl (i64.const 2) (i64.extend_i32_u (i32.shr_u (i32.sub (local.get $last) (local.get $at)) (i32.const 1))))
              (i64.const 1)))
          (local.set $lt (i64.and (local.get $lt) (local.get $from)))
          (local.set $gt (i64.and (local.get $gt) (local.get $from)))))

      (loop $next
        (if (i64.eqz (local.get $lt))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 128)))
            (br $block)))
        (local.set $tag (i32.add (local.get $at) (i32.shl (i32.wrap_i64 (i64.ctz (local.get $lt))) (i32.const 1))))
        (local.set $code (i32.load16_u offset=2 (local.get $tag)))
        (if (i32.eq (local.get $code) (i32.const 47)) ;; `</`
          (then
            (local.set $code (i32.or (i32.load16_u offset=4 (local.get $tag)) (i32.const 32)))
            (if (i32.gt_u (i32.sub (local.get $code) (i32.const 97)) (i32.const 25)) (then (return (local.get $tag))))
            ;; `</f` may end a form.
            (if (i32.and (i32.eq (local.get $code) (i32.const 102)) (i32.and (local.get $flags) (i32.const 1)))
              (then (return (local.get $tag))))
            ;; `</a` and no letter may end the text of a link.
            (if (i32.and (i32.eq (local.get $code) (i32.const 97)) (i32.shr_u (local.get $flags) (i32.const 2)))
              (then
                (if (i32.gt_u
                      (i32.sub (i32.or (i32.load16_u offset=6 (local.get $tag)) (i32.const 32)) (i32.const 97))
                      (i32.const 25))
                  (then (return (local.get $tag)))))))
          (else
            (if (i32.gt_u (i32.sub (i32.or (local.get $code) (i32.const 32)) (i32.const 97)) (i32.const 25))
              (then (return (local.get $tag))))
            ;; By the first two characters of a name, a bit for each third one that names of interest have.
            (if (i32.and
                  (i32.const 1)
                  (i32.shr_u
                    (i32.load
                      (i32.shl
                        (i32.or
                          (i32.shl (i32.and (local.get $code) (i32.const 31)) (i32.const 5))
                          (i32.and (i32.load16_u offset=4 (local.get $tag)) (i32.const 31)))
                        (i32.const 2)))
                    (i32.load16_u offset=6 (local.get $tag))))
              (then (return (local.get $tag))))))

        ;; Without quotation marks a tag ends at the first `>`, whatever else is in it.
        (local.set $from (i64.sub (i64.const 0) (i64.and (local.get $lt) (i64.sub (i64.const 0) (local.get $lt)))))
        (local.set $end (i64.and (local.get $gt) (local.get $from)))
        (local.set $end (i64.and (local.get $end) (i64.sub (i64.const 0) (local.get $end))))
        (local.set $open
          (i64.and
            (i64.or (local.get $quote) (local.get $apostrophe))
            (i64.and (local.get $from) (i64.sub (local.get $end) (i64.const 1)))))
        (block $is_passed
          (block $is_cut
            (br_if $is_cut (i64.eqz (local.get $end)))
            (if (i64.ne (local.get $open) (i64.const 0))
              (then
                ;; A `=` in the name of the element itself is no more than a part of it.
                (local.set $close (i64.and (local.get $open) (i64.sub (i64.const 0) (local.get $open))))
                (if (i64.eqz
                      (i64.and (local.get $space) (i64.and (local.get $from) (i64.sub (local.get $close) (i64.const 1)))))
                  (then (return (local.get $tag))))
                (loop $attribute
                  (local.set $open (i64.and (local.get $open) (i64.sub (i64.const 0) (local.get $open))))
                  ;; Between two values there must be one `=`, at the end, and behind a character of a name.
                  (if (i64.ne
                        (i64.and (local.get $equals) (i64.and (local.get $from) (i64.sub (local.get $open) (i64.const 1))))
                        (i64.shr_u (local.get $open) (i64.const 1)))
                    (then (return (local.get $tag))))
                  (local.set $place
                    (i32.add (local.get $at) (i32.shl (i32.wrap_i64 (i64.ctz (local.get $open))) (i32.const 1))))
                  (if (i32.le_u (i32.load16_u (i32.sub (local.get $place) (i32.const 4))) (i32.const 47))
                    (then (return (local.get $tag))))
                  ;; `style=`, for all that is known.
                  (if (i32.and (local.get $flags) (i32.const 2))
                    (then
                      (if (i32.eq
                            (i32.or (i32.load16_u (i32.sub (local.get $place) (i32.const 12))) (i32.const 32))
                            (i32.const 115))
                        (then (return (local.get $tag))))))
                  (local.set $close
                    (select
                      (local.get $quote)
                      (local.get $apostrophe)
                      (i64.ne (i64.and (local.get $open) (local.get $quote)) (i64.const 0))))
                  (local.set $close (i64.and (local.get $close) (i64.sub (i64.const 0) (i64.shl (local.get $open) (i64.const 1)))))
                  (br_if $is_cut (i64.eqz (local.get $close)))
                  (local.set $close (i64.and (local.get $close) (i64.sub (i64.const 0) (local.get $close))))
                  (local.set $from (i64.sub (i64.const 0) (i64.shl (local.get $close) (i64.const 1))))
                  (local.set $end (i64.and (local.get $gt) (local.get $from)))
                  (br_if $is_cut (i64.eqz (local.get $end)))
                  (local.set $end (i64.and (local.get $end) (i64.sub (i64.const 0) (local.get $end))))
                  (local.set $open
                    (i64.and
                      (i64.or (local.get $quote) (local.get $apostrophe))
                      (i64.and (local.get $from) (i64.sub (local.get $end) (i64.const 1)))))
                  (br_if $attribute (i64.ne (local.get $open) (i64.const 0))))))
            ;; A value without quotation marks may be a style as well.
            (if (i32.and (local.get $flags) (i32.const 2))
              (then
                (if (i64.ne
                      (i64.and (local.get $equals) (i64.and (local.get $from) (i64.sub (local.get $end) (i64.const 1))))
                      (i64.const 0))
                  (then (return (local.get $tag))))))
            (br $is_passed))
          ;; It does not end here: once more from its beginning on, but what is longer than all that is seen is left.
          (if (i32.eq (local.get $tag) (local.get $at)) (then (return (local.get $tag))))
          (local.set $at (local.get $tag))
          (br $block))
        (local.set $lt (i64.and (local.get $lt) (i64.sub (i64.const 0) (i64.shl (local.get $end) (i64.const 1)))))
        (br $next)))
    (unreachable)))
