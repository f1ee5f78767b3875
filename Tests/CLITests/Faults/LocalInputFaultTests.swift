import Foundation
import MediaStore
import TestSupport
import Testing

/// Errors in the file or its details are found before anything is sent to the server.
@Suite struct LocalInputFaultTests {
    /// One error: its cause, the additional arguments, and its report.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var make: @Sendable (FaultFixture) throws -> String? = { _ in nil }
        var arguments: [String] = []
        let fault: ExpectedFault

        /// A file that `make` creates at the path with this name.
        init(file name: String, _ fault: ExpectedFault, make: @escaping @Sendable (String) throws -> Void) {
            testDescription = name
            self.make = { fixture in
                let path = fixture.runner.home.file(name)
                try make(path)
                return path
            }
            self.fault = fault
        }

        init(_ option: String, _ value: String, _ message: String) {
            testDescription = "\(option) \(value.prefix(12))"
            arguments = [option, value]
            fault = ExpectedFault(2, "invalid_detail", message, hint: option)
        }
    }

    static let files: [Row] = [
        Row(
            file: "gone.mp4",
            ExpectedFault(2, "file_not_found", "gone.mp4\": no such file", hint: "check the spelling")
        ) {
            _ in
        },
        Row(file: ".", ExpectedFault(2, "is_directory", "it is a directory", hint: "specify the files in it")) { _ in },
        Row(file: "empty.mp4", ExpectedFault(2, "empty_file", "empty.mp4\": it is empty")) { path in
            try Data().write(to: URL(fileURLWithPath: path))
        },
        // Above 6 GiB.
        Row(
            file: "huge.mp4",
            ExpectedFault(2, "file_too_large", "larger than the limit of 6442450944 bytes", hint: "set max_bytes")
        ) { path in
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(truncate(path, 6_442_450_945) == 0)
        },
        Row(
            file: "pipe.mp4",
            ExpectedFault(2, "not_regular_file", "it is not a regular file", hint: "upload - --stdin-name")
        ) { path in
            #expect(mkfifo(path, 0o600) == 0)
        },
        Row(
            file: "notes.txt",
            ExpectedFault(2, "unknown_extension", "does not accept this file extension", hint: "--any-extension")
        ) { path in
            try Data("text".utf8).write(to: URL(fileURLWithPath: path))
        },
    ]

    static let details: [Row] = [
        Row("--event-date", "2026-02-30", "\"2026-02-30\" as event date: must be a valid date"),
        Row("--event-date", "30.11.2026", "must be a valid date (YYYY-MM-DD)"),
        Row("--label", String(repeating: "é", count: 256), "has 256 characters; at most 255 are allowed"),
        Row("--label", "  ", "as label: must not be blank"),
        Row("--event-type", "funeral", "must be one of band, wedding, other"),
        Row("--org-name", String(repeating: "o", count: 129), "at most 128 are allowed"),
    ]

    @Test(arguments: files + details)
    func isFoundBeforeAnythingIsSent(_ row: Row) async throws {
        let site = try ScriptedSite()
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload(row.arguments, path: try row.make(fixture))
        report.expect(row.fault)
        #expect(site.connections == 0)
        #expect(try fixture.states().isEmpty)
        #expect(try fixture.tokens().isEmpty)
    }

    /// 255 scalars of two bytes each, 128 for an organization: the longest values allowed are sent.
    @Test func longestDetailsAreSent() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let report = try await fixture.upload([
            "--label", String(repeating: "é", count: 255), "--org-name", String(repeating: "o", count: 128),
        ])
        report.expectSuccess("done")
        #expect(try fixture.tokens().map { $0.label?.unicodeScalars.count } == [255])
    }

    @Test func theSizeLimitIsASetting() async throws {
        let site = try ScriptedSite()
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload(extra: ["MEDIACTL_MAX_BYTES": "26181"])
        report.expect(ExpectedFault(2, "file_too_large", "the limit of 26181 bytes"))
        #expect(site.connections == 0)
    }

    @Test(arguments: [
        ("", ExpectedFault(2, "empty_file", "it is empty")),
        (String(repeating: "x", count: 1001), ExpectedFault(2, "file_too_large", "limit of 1000 bytes")),
    ])
    func standardInput(_ input: String, _ fault: ExpectedFault) async throws {
        let site = try ScriptedSite()
        let fixture = try FaultFixture(site.address)
        let result = try await fixture.runner.run(
            ["upload", "-", "--stdin-name", "piped.mp4", "--json"] + fixture.login,
            input: input,
            extra: ["MEDIACTL_MAX_BYTES": "1000"]
        )
        FaultReport(result).expect(fault)
        #expect(site.connections == 0)
        #expect(try fixture.states().isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.dataDirectory)
        #expect(!left.contains { $0.contains("spool") })
    }

    @Test func unreadableFile() async throws {
        let site = try ScriptedSite()
        var fixture = try FaultFixture(site.address)
        #expect(chmod(fixture.file, 0) == 0)
        let report = try await fixture.uploadWithoutPrivileges()
        report.expect(ExpectedFault(2, "file_unreadable", "permission denied"))
        #expect(site.connections == 0)
        #expect(try fixture.states().isEmpty)
    }
}

extension FaultFixture {
    /// An upload that obeys file permissions even if the tests are run by root.
    mutating func uploadWithoutPrivileges() async throws -> FaultReport {
        guard geteuid() == 0 else { return try await upload() }
        let program = runner.executable
        runner.executable = "/usr/bin/setpriv"
        defer { runner.executable = program }
        // Root without these capabilities is an ordinary owner of its files.
        let arguments = ["--bounding-set", "-dac_override,-dac_read_search", program, "upload", file, "--json"]
        return FaultReport(try await runner.run(arguments + login))
    }
}
