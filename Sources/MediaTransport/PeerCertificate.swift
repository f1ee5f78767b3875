internal import CCurl
internal import CCurlShims
internal import MediaSystem

/// The certificate that a TLS server presents, trusted or not.
package struct PeerCertificate: Sendable, Equatable {
    /// The subject's names, as libcurl writes them.
    package var subject: String
    package var issuer: String
    /// As written in the certificate, like `expires`.
    package var starts: String
    package var expires: String
    package var pem: String
}

extension HTTPClient {
    /// Fetches a server's certificate: connects, performs the TLS handshake without any check, sends nothing, and
    /// closes. Only for showing the certificate to the user; never for deciding whether to trust it.
    ///
    /// Works on its own thread. Canceling does not stop it; `limit` does. `origin` must be `https`.
    package static func peerCertificate(
        of origin: Origin,
        limit: Duration
    ) async throws(TransportError) -> PeerCertificate {
        try await BlockingWork.run { () throws(TransportError) in try fetchCertificate(of: origin, limit: limit) }
    }

    private static func fetchCertificate(
        of origin: Origin,
        limit: Duration
    ) throws(TransportError) -> PeerCertificate {
        guard let handle = curl_easy_init() else { throw TransportError(.unusable, detail: "out of memory") }
        defer { curl_easy_cleanup(handle) }
        _ = shim_setopt_string(handle, CURLOPT_URL, origin.description + "/")
        _ = shim_setopt_string(handle, CURLOPT_PROTOCOLS_STR, "https")
        for option in [CURLOPT_CONNECT_ONLY, CURLOPT_CERTINFO, CURLOPT_NOSIGNAL] {
            _ = shim_setopt_long(handle, option, 1)
        }
        for option in [CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST] {
            _ = shim_setopt_long(handle, option, 0)
        }
        _ = shim_setopt_long(handle, CURLOPT_TIMEOUT_MS, max(1, limit.milliseconds))
        let code = curl_easy_perform(handle)
        guard code == CURLE_OK else {
            let kind: TransportError.Kind =
                switch code {
                case CURLE_COULDNT_RESOLVE_HOST: .unknownHost
                case CURLE_OPERATION_TIMEDOUT: .connectTimeout
                case CURLE_COULDNT_CONNECT: .cannotConnect
                default: .tls
                }
            throw TransportError(kind, detail: String(cString: curl_easy_strerror(code)))
        }
        let fields = leafFields(of: handle)
        return PeerCertificate(
            subject: fields["Subject"] ?? "",
            issuer: fields["Issuer"] ?? "",
            starts: fields["Start date"] ?? "",
            expires: fields["Expire date"] ?? "",
            pem: fields["Cert"] ?? ""
        )
    }

    /// `Name:value` lines for the first certificate in the chain, which is the server's own.
    private static func leafFields(of handle: UnsafeMutableRawPointer) -> [String: String] {
        var fields: [String: String] = [:]
        // The list belongs to the handle and is freed with it.
        var line = shim_first_certificate(handle)
        while let entry = line?.pointee {
            let text = String(cString: entry.data)
            if let colon = text.firstIndex(of: ":") {
                fields[String(text[..<colon])] = String(text[text.index(after: colon)...])
            }
            line = UnsafePointer(entry.next)
        }
        return fields
    }
}
