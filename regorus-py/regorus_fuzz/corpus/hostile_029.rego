package p
allow if http.send({"url": "x"})
