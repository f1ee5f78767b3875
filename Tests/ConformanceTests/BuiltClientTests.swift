import Foundation
import TestSupport
import Testing

/// The binary, against third-party servers and reverse proxies.
@Suite("The built client")
struct BuiltClientTests {
    static let clip = "fixtures/media/clip.mp4"
    /// `sha256sum fixtures/media/clip.mp4`
    static let clipSHA256 = "8316edbdd6f5984db3940a905dd06bf3bc49bfd7e9bef8943184df929ed670d1"

    @Test("PHP parses the fields in order, and the file's name, type and bytes")
    func formAsPHPSeesIt() async throws {
        let scratch = try TemporaryDirectory()
        let php = try await ForeignProgram.php(environment: ["DUMP_FILE": scratch.file("dump.json")])
        let runner = try Self.client(of: php.address)
        let path = try runner.home.write("été; \"x\" 😀.mp4", try Repository.data(Self.clip))

        let ending = try await runner.run([
            "upload", path, "--event-date", "2026-06-13", "--org-name", "Ann & Bob", "--event-type", "wedding",
            "--label", "First dance 💃", "--participants", "Ann, Bob", "--notes", "two\nlines", "--json",
        ])

        #expect(ending.status == 0, "\(ending.output)\(ending.errors)")
        let form = try ParsedForm(json: try Data(contentsOf: URL(filePath: scratch.file("dump.json"))))
        // Fields that were not specified have no part: an empty part differs from a missing one (trap T6).
        #expect(
            Set(form.fields.compactMap(\.first)) == [
                "event_date", "org_name", "event_type", "label", "participants", "notes",
            ]
        )
        #expect(form.fields.contains(["event_date", "2026-06-13"]))
        #expect(form.fields.contains(["org_name", "Ann & Bob"]))
        #expect(form.fields.contains(["event_type", "wedding"]))
        #expect(form.fields.contains(["label", "First dance 💃"]))
        #expect(form.fields.contains(["participants", "Ann, Bob"]))
        #expect(form.files.map(\.field) == ["file"])
        #expect(form.files.map(\.name) == ["été; %22x%22 😀.mp4"])
        #expect(form.files.map(\.contentType) == ["video/mp4"])
        #expect(form.files.map(\.sha256) == [Self.clipSHA256])
    }

    @Test("upload, list and delete go through nginx with TLS", arguments: [false, true])
    func throughNginx(http2: Bool) async throws {
        let site = try await Site()
        func hasClip() throws -> Bool {
            try FileManager.default.subpathsOfDirectory(atPath: site.sandbox.data.path)
                .contains { $0.contains(Self.clipSHA256) }
        }

        let upload = try await site.runner.run(
            ["upload", try site.clip(), "--json", http2 ? "--http2" : "--verbose"] + site.trust
        )
        #expect(upload.status == 0, "\(upload.output)\(upload.errors)")
        let item = try #require(try upload.records().first)
        #expect(item["verified"] as? Bool == true)
        #expect(item["checksum_sha256"] as? String == Self.clipSHA256)
        #expect(try hasClip())

        let deletion = try await site.runner.run(["uploads", "delete", "--last", "--yes"] + site.trust)
        #expect(deletion.status == 0, "\(deletion.errors)")
        #expect(try !hasClip())
    }

    @Test("a self-signed certificate is refused without --cacert, and nothing is sent")
    func untrustedCertificate() async throws {
        let site = try await Site()

        let ending = try await site.runner.run(["upload", try site.clip(), "--retries", "0", "--no-input"])

        #expect(ending.status == 6)
        #expect(ending.errors.contains("--cacert"))
        #expect(!ending.errors.contains("--insecure"))
        #expect(ending.output.isEmpty)
    }

    @Test("nginx's own 413 results in exit code 2")
    func refusedByNginx() async throws {
        let site = try await Site(largestBody: "16k")

        let ending = try await site.runner.run(
            ["upload", try site.clip(), "--json", "--transport", "multipart"] + site.trust
        )

        #expect(ending.status == 2, "\(ending.output)\(ending.errors)")
        let item = try #require(try ending.records().first)
        #expect(item["state"] as? String == "failed")
        #expect(item["http_status"] as? Int == 413)
    }

    @Test("a file too large for nginx is uploaded through it in chunks", arguments: [true, false])
    func chunksThroughNginx(isBuffering: Bool) async throws {
        let site = try await Site(largestBody: "300k", isBuffering: isBuffering)
        let content = try Repository.data(Self.clip) + Data(count: 2_000_000)
        let path = try site.runner.home.write("clip.mp4", content)

        let ending = try await site.runner.run(["upload", path, "--transport", "tus", "--json"] + site.trust)

        #expect(ending.status == 0, "\(ending.output)\(ending.errors)")
        let item = try #require(try ending.records().first)
        #expect(item["state"] as? String == "done")
        #expect(item["transport"] as? String == "tus")
        #expect(item["verified"] as? Bool == true)
        #expect(item["size_bytes"] as? Int == content.count)
    }

    /// nginx with TLS in front of a sandbox, and a client for it.
    private struct Site {
        let sandbox: SandboxProcess
        let proxy: ReverseProxy
        let runner: BinaryRunner

        init(largestBody: String = "1g", isBuffering: Bool = true) async throws {
            sandbox = try await SandboxProcess.start()
            proxy = try await ReverseProxy(before: sandbox.baseURL, largestBody: largestBody, isBuffering: isBuffering)
            runner = try BuiltClientTests.client(of: proxy.address())
        }

        var trust: [String] { ["--cacert", proxy.authority] }

        func clip() throws -> String {
            try runner.home.write("clip.mp4", try Repository.data(BuiltClientTests.clip))
        }
    }

    /// `mediactl` with a login for a server.
    static func client(of server: String) throws -> BinaryRunner {
        var runner = try BinaryRunner()
        runner.environment.merge([
            "MEDIACTL_SERVER": server, "MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader",
        ]) { $1 }
        return runner
    }
}
