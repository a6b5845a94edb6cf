import { existsSync, readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

// Where Debian, Red Hat, SUSE and Alpine keep them.
const FILES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/ca-bundle.pem', '/etc/ssl/cert.pem'];

/** Those that the system trusts, or SSL_CERT_FILE, and NODE_EXTRA_CA_CERTS; where there are none, Node's own. */
export function authorities(): (string | Buffer)[] {
  const { SSL_CERT_FILE, NODE_EXTRA_CA_CERTS } = process.env;
  const system = SSL_CERT_FILE ?? FILES.find(existsSync);
  return [...(system ? [readFileSync(system)] : rootCertificates), ...(NODE_EXTRA_CA_CERTS ? [readFileSync(NODE_EXTRA_CA_CERTS)] : [])];
}
