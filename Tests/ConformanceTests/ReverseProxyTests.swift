import Foundation
import MediaTransport
import TestSupport
import Testing

/// The transport through nginx: TLS, HTTP/2, Basic authentication, limits, buffering.
@Suite("Through nginx")
struct ReverseProxyTests {
    private let fixture: Fixture

    init() async throws { fixture = try await Fixture() }

    /// Larger than every socket buffer, so that sending the body before a refusal would be detected.
    static let largeByteCount = 24 << 20

    /// nginx in front of PHP, with the settings that a request through both needs.
    private final class Fixture {
        let proxy: ReverseProxy
        private let php: ForeignServer
        private let directory: TemporaryDirectory

        init() async throws {
            php = try await ForeignProgram.php()
            proxy = try await ReverseProxy(before: php.address)
            directory = try TemporaryDirectory()
        }

        func post(
            _ path: String,
            host: String = "localhost",
            byteCount: Int = 1000,
            trust: ServerTrust? = nil,
            http2: Bool = false,
            password: String? = nil
        ) async throws -> HTTPResponse {
            let form = SampleForm(content: [UInt8](repeating: 0x61, count: byteCount))
            let body = try form.body(contentAt: directory.file("content"))
            let server = try ServerURL(proxy.address(host: host))
            let client = try HTTPClient(
                configuration: HTTPClientConfiguration(
                    trust: trust ?? ServerTrust(caFile: proxy.authority),
                    http2: http2
                )
            )
            return try await client.execute(
                HTTPRequest(
                    .post,
                    server.resource(path),
                    headers: [HTTPHeader("Content-Type", body.contentType)],
                    body: body,
                    authorization: password.map { .basic(user: "uploader", password: $0, for: server.origin) },
                    repeatability: .atMostOnce
                )
            )
        }
    }

    @Test("a buffered body arrives completely, over each version of HTTP", arguments: [false, true])
    func buffered(http2: Bool) async throws {
        let response = try await fixture.post("/", byteCount: Self.largeByteCount, http2: http2)

        let form = try ParsedForm(json: Data(response.body))
        #expect(form.files.map(\.size) == [Self.largeByteCount])
        // `head -c 25165824 /dev/zero | tr '\0' a | sha256sum`
        #expect(form.files.map(\.sha256) == ["c38d2e95982aef0a387477869ed79d2df511f8ce81ccc516128e40e6371240c9"])
        #expect(response.head.value(of: "X-Protocol") == (http2 ? "HTTP/2.0" : "HTTP/1.1"))
    }

    @Test("a body above the limit is refused before it is sent", arguments: [false, true])
    func tooLarge(http2: Bool) async throws {
        let response = try await fixture.post("/small/", byteCount: Self.largeByteCount, http2: http2)

        #expect(response.status == 413)
        #expect(response.head.mediaType == "text/html")
        #expect(response.metrics.bodyBytesSent == 0)
    }

    @Test("a wrong password is refused before the body is sent", arguments: [false, true])
    func wrongPassword(http2: Bool) async throws {
        let response = try await fixture.post(
            "/private/",
            byteCount: Self.largeByteCount,
            http2: http2,
            password: "wrong"
        )

        #expect(response.status == 401)
        #expect(response.metrics.bodyBytesSent == 0)
    }

    @Test("with the right password the body is sent")
    func rightPassword() async throws {
        let response = try await fixture.post("/private/", password: "secret")

        #expect(response.status == 200)
        #expect(try ParsedForm(json: Data(response.body)).files.map(\.size) == [1000])
    }

    @Test("a certificate from an unknown authority is not trusted")
    func unknownAuthority() async throws {
        let error = await #expect(throws: TransportError.self) { try await fixture.post("/", trust: ServerTrust()) }

        #expect(error?.kind == .certificateUntrusted)
    }

    @Test("a certificate for a different name is not trusted")
    func otherName() async throws {
        // RFC 6761 section 6.3: names below "localhost" are loopback; the certificate contains only "localhost" itself.
        let error = await #expect(throws: TransportError.self) { try await fixture.post("/", host: "other.localhost") }

        #expect(error?.kind == .certificateNameMismatch)
    }

    @Test("a pinned key replaces certificate chain and hostname verification")
    func pinnedKey() async throws {
        let response = try await fixture.post(
            "/",
            host: "other.localhost",
            trust: ServerTrust(pinnedKey: fixture.proxy.pin)
        )

        #expect(response.status == 200)
    }

    @Test("a key that does not match the pin is refused, even if nothing else is verified")
    func otherPinnedKey() async throws {
        let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()

        let error = await #expect(throws: TransportError.self) {
            try await fixture.post("/", trust: ServerTrust(pinnedKey: other, insecure: true))
        }

        #expect(error?.kind == .pinnedKeyMismatch)
    }
}
