package p
claims := io.jwt.decode(input.token)[1]
deny contains "expired" if claims.exp < time.now_ns() / 1000000000
allow if io.jwt.verify_rs256(input.token, input.key)
allow if io.jwt.decode_verify(input.token, {"cert": input.keys, "aud": "agents", "iss": "headgate"})[0]
require_approval contains kid if { some key in json.unmarshal(input.keys).keys; kid := key.kid }
deny contains "unsigned" if not io.jwt.verify_es256(input.other, input.keys)
signed := io.jwt.encode_sign({"alg": "HS256"}, claims, {"kty": "oct", "k": "YWJj"})
