import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.source.JWKSourceBuilder;
import com.nimbusds.jose.proc.DefaultJOSEObjectTypeVerifier;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.DefaultJWTClaimsVerifier;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.net.URI;
import java.util.Scanner;
import java.util.Set;

/**
 * An API that knows nothing but the JWKS: for each line `ISSUER AUDIENCE TOKEN` it prints `accepted SUB` or `refused REASON`.
 *
 * <p>java -cp nimbus-jose-jwt.jar ResourceServer.java JWKS_URI
 */
class ResourceServer {
  public static void main(String[] args) throws Exception {
    var keys = JWKSourceBuilder.create(URI.create(args[0]).toURL()).build();
    var processor = new DefaultJWTProcessor<SecurityContext>();
    processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.ES256, keys));
    processor.setJWSTypeVerifier(
        new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("at+jwt")));
    var lines = new Scanner(System.in);
    while (lines.hasNextLine()) {
      var fields = lines.nextLine().split(" ");
      var expected = new JWTClaimsSet.Builder().issuer(fields[0]).build();
      var required = Set.of("sub", "exp");
      processor.setJWTClaimsSetVerifier(
          new DefaultJWTClaimsVerifier<>(fields[1], expected, required));
      try {
        System.out.println("accepted " + processor.process(fields[2], null).getSubject());
      } catch (Exception error) {
        System.out.println("refused " + error.getMessage());
      }
    }
  }
}
