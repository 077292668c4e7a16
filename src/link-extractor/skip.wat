;; Passes over the markup of a body as long as it is as it should be: text, tags of no interest, and links, which it notes.
;; Of 64 characters it is found in one go where those stand that mean something, a bit each; the rest is done with these
;; bits, since what can't be foretold, how long a name is, say, costs more than to look at characters that do not matter.
;; `tag-skipper.ts` says what is kept where, and goes on where this stops. `npm run wasm` makes `skip-bytes.ts` of it.
(module
  (import "own" "memory" (memory 69 69))

  ;; Whether a character ends the name of an element: white space, `/` or `>`.
  (func $ends_name (param $code i32) (result i32)
    (i32.or
      (i32.or (i32.eq (local.get $code) (i32.const 62)) (i32.eq (local.get $code) (i32.const 32)))
      (i32.or
        (i32.eq (local.get $code) (i32.const 47))
        (i32.and
          (i32.le_u (i32.sub (local.get $code) (i32.const 9)) (i32.const 4))
          (i32.ne (local.get $code) (i32.const 11))))))

  ;; $at: where to begin, within text; $last: where the last `>` stands that is known, behind $at. Both are addresses, as is
  ;; the result: the first `<` that somebody else has to look at, or the place behind $last.
  ;; $flags: 1 a form is open, 2 style attributes count, 4 the text of a link is open that was noted before.
  ;; From 4096 on it leaves the number of the links that it passed, and from 4112 on six addresses of each: of the value of
  ;; its href, of that of its rel (0 where it has none), and of its text (the end is 0 where that has not ended).
  (func (export "skip") (param $at i32) (param $last i32) (param $flags i32) (result i32)
    (local $part0 v128) (local $part1 v128) (local $part2 v128) (local $part3 v128)
    (local $lt_code v128) (local $gt_code v128) (local $quote_code v128) (local $apostrophe_code v128)
    (local $equals_code v128) (local $space_code v128) (local $lf_code v128)
    (local $lt i64) (local $gt i64) (local $quote i64) (local $apostrophe i64) (local $equals i64) (local $space i64)
    (local $from i64) (local $end i64) (local $open i64) (local $close i64)
    (local $tag i32) (local $code i32) (local $place i32)
    (local $links i32) (local $text i32) (local $name i32) (local $value i32) (local $found i32)
    (local $href i32) (local $href_end i32) (local $rel i32) (local $rel_end i32)
    (local $eight v128)
    ;; $links: where the next link goes; $text: the one whose text is open, or 0.
    (local.set $links (i32.const 4112))
    (i32.store (i32.const 4096) (i32.const 0))
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
            ;; `</a` ends the text of a link.
            (if (i32.eq (local.get $code) (i32.const 97))
              (then
                (if (call $ends_name (i32.load16_u offset=6 (local.get $tag)))
                  (then
                    (if (i32.and (local.get $flags) (i32.const 4)) (then (return (local.get $tag))))
                    (if (local.get $text)
                      (then
                        (i32.store offset=20 (local.get $text) (local.get $tag))
                        (local.set $text (i32.const 0)))))))))
          (else
            (if (i32.gt_u (i32.sub (i32.or (local.get $code) (i32.const 32)) (i32.const 97)) (i32.const 25))
              (then (return (local.get $tag))))
            (if (i32.eq (i32.or (local.get $code) (i32.const 32)) (i32.const 97))
              (then
                (if (call $ends_name (i32.load16_u offset=4 (local.get $tag)))
                  (then
                    (if (i32.and (local.get $flags) (i32.const 4)) (then (return (local.get $tag))))
                    ;; There is room for 512.
                    (if (i32.ge_u (local.get $links) (i32.const 16400)) (then (return (local.get $tag))))
                    (local.set $href (i32.const 0))
                    (local.set $rel (i32.const 0))
                    (local.set $rel_end (i32.const 0))
                    (local.set $place (i32.add (local.get $tag) (i32.const 4)))
                    (loop $attribute
                      (loop $white_space
                        (local.set $code (i32.load16_u (local.get $place)))
                        (if (i32.le_u (local.get $code) (i32.const 32))
                          (then
                            ;; Other control characters begin a name.
                            (if (i32.eqz (call $ends_name (local.get $code))) (then (return (local.get $tag))))
                            (local.set $place (i32.add (local.get $place) (i32.const 2)))
                            (br $white_space))))
                      (if (i32.ne (local.get $code) (i32.const 62))
                        (then
                          (local.set $name (local.get $place))
                          (loop $letter
                            (local.set $code (i32.load16_u (local.get $place)))
                            (local.set $place (i32.add (local.get $place) (i32.const 2)))
                            (br_if $letter (i32.gt_u (local.get $code) (i32.const 62)))
                            (if (i32.ne (local.get $code) (i32.const 61))
                              (then
                                ;; Digits, `-`, `.` and `:` are as good as letters; the rest is for others to judge.
                                (br_if $letter (i32.le_u (i32.sub (local.get $code) (i32.const 48)) (i32.const 10)))
                                (br_if $letter (i32.le_u (i32.sub (local.get $code) (i32.const 45)) (i32.const 1)))
                                (return (local.get $tag)))))
                          ;; $place is behind the `=` now.
                          (local.set $found
                            (i32.shr_u (i32.sub (i32.sub (local.get $place) (i32.const 2)) (local.get $name)) (i32.const 1)))
                          (local.set $code (i32.load16_u (local.get $place)))
                          (if (i32.or
                                (i32.and (i32.ne (local.get $code) (i32.const 34)) (i32.ne (local.get $code) (i32.const 39)))
                                (i32.eqz (local.get $found)))
                            (then (return (local.get $tag))))
                          (local.set $value (i32.add (local.get $place) (i32.const 2)))
                          (local.set $place (local.get $value))
                          (local.set $eight (i16x8.splat (local.get $code)))
                          (block $value_ends
                            (loop $more
                              (local.set $code (i16x8.bitmask (i16x8.eq (v128.load (local.get $place)) (local.get $eight))))
                              (br_if $value_ends (local.get $code))
                              (local.set $place (i32.add (local.get $place) (i32.const 16)))
                              (br_if $more (i32.lt_u (local.get $place) (local.get $last))))
                            (return (local.get $tag)))
                          (local.set $place
                            (i32.add (local.get $place) (i32.shl (i32.ctz (local.get $code)) (i32.const 1))))
                          (if (i32.ge_u (local.get $place) (local.get $last)) (then (return (local.get $tag))))
                          ;; `href` and `rel` in any case; of two with one name the first counts.
                          (if (i32.and (i32.eq (local.get $found) (i32.const 4)) (i32.eqz (local.get $href)))
                            (then
                              (if (i64.eq
                                    (i64.or (i64.load (local.get $name)) (i64.const 0x0020002000200020))
                                    (i64.const 0x0066006500720068))
                                (then
                                  (local.set $href (local.get $value))
                                  (local.set $href_end (local.get $place))))))
                          (if (i32.and (i32.eq (local.get $found) (i32.const 3)) (i32.eqz (local.get $rel)))
                            (then
                              (if (i64.eq
                                    (i64.or
                                      (i64.and (i64.load (local.get $name)) (i64.const 0x0000ffffffffffff))
                                      (i64.const 0x0000002000200020))
                                    (i64.const 0x0000006c00650072))
                                (then
                                  (local.set $rel (local.get $value))
                                  (local.set $rel_end (local.get $place))))))
                          ;; `style`, for all that is known.
                          (if (i32.and
                                (i32.eq (local.get $found) (i32.const 5))
                                (i32.and (i32.shr_u (local.get $flags) (i32.const 1)) (i32.const 1)))
                            (then
                              (if (i32.eq (i32.or (i32.load16_u (local.get $name)) (i32.const 32)) (i32.const 115))
                                (then (return (local.get $tag))))))
                          (local.set $place (i32.add (local.get $place) (i32.const 2)))
                          (br $attribute))))
                    ;; $place is at the `>` now. The text of a link ends where the next begins, whether that leads anywhere.
                    (local.set $at (i32.add (local.get $place) (i32.const 2)))
                    (if (local.get $text) (then (i32.store offset=20 (local.get $text) (local.get $tag))))
                    (local.set $text (i32.const 0))
                    (if (local.get $href)
                      (then
                        (i32.store (local.get $links) (local.get $href))
                        (i32.store offset=4 (local.get $links) (local.get $href_end))
                        (i32.store offset=8 (local.get $links) (local.get $rel))
                        (i32.store offset=12 (local.get $links) (local.get $rel_end))
                        (i32.store offset=16 (local.get $links) (local.get $at))
                        (i32.store offset=20 (local.get $links) (i32.const 0))
                        (local.set $text (local.get $links))
                        (local.set $links (i32.add (local.get $links) (i32.const 24)))
                        (i32.store (i32.const 4096) (i32.add (i32.load (i32.const 4096)) (i32.const 1)))))
                    (br $block)))))
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
