module stock-clients

go 1.24

require (
	github.com/MicahParks/keyfunc/v3 v3.6.2
	github.com/coreos/go-oidc/v3 v3.14.1
	github.com/golang-jwt/jwt/v5 v5.3.0
	golang.org/x/oauth2 v0.30.0
)

require (
	github.com/MicahParks/jwkset v0.11.0 // indirect
	github.com/go-jose/go-jose/v4 v4.0.5 // indirect
	golang.org/x/crypto v0.36.0 // indirect
	golang.org/x/time v0.9.0 // indirect
)
