import Foundation
import MediaStore
import TestSupport
import Testing

/// Errors in the file or its details are found before anything is sent to the server.
@Suite struct LocalInputFaultTests {
    /// One error: its cause, the additional arguments, and its report.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var make: @Sendable (FaultFixture) throws -> String?
        var arguments: [String] = []
        let fault: ExpectedFault

        init(
            _ name: String,
            _ arguments: [String] = [],
            make: @escaping @Sendable (FaultFixture) throws -> String? = { _ in nil },
            _ fault: ExpectedFault
        ) {
            testDescription = name
            self.make = make
            self.arguments = arguments
            self.fault = fault
        }
    }

    static let files: [Row] = [
        Row(
            "no such file",
            make: { $0.runner.home.file("gone.mp4") },
            ExpectedFault(2, "file_not_found", "gone.mp4\": no such file", hint: "check the spelling")
        ),
        Row(
            "a directory",
            make: { $0.runner.home.path },
            ExpectedFault(2, "is_directory", "it is a directory", hint: "specify the files in it")
        ),
        Row(
            "an empty file",
            make: { fixture in
                let path = fixture.runner.home.file("empty.mp4")
                try Data().write(to: URL(fileURLWithPath: path))
                return path
            },
            ExpectedFault(2, "empty_file", "empty.mp4\": it is empty")
        ),
        Row(
            "a file above 6 GiB",
            make: { fixture in
                let path = fixture.runner.home.file("huge.mp4")
                try Data().write(to: URL(fileURLWithPath: path))
                #expect(truncate(path, 6_442_450_945) == 0)
                return path
            },
            ExpectedFault(2, "file_too_large", "larger than the limit of 6442450944 bytes", hint: "set max_bytes")
        ),
        Row(
            "a named pipe",
            make: { fixture in
                let path = fixture.runner.home.file("pipe.mp4")
                #expect(mkfifo(path, 0o600) == 0)
                return path
            },
            ExpectedFault(2, "not_regular_file", "it is not a regular file", hint: "upload - --stdin-name")
        ),
        Row(
            "an unknown extension",
            make: { fixture in
                let path = fixture.runner.home.file("notes.txt")
                try Data("text".utf8).write(to: URL(fileURLWithPath: path))
                return path
            },
            ExpectedFault(2, "unknown_extension", "does not accept this file extension", hint: "--any-extension")
        ),
    ]

    static let details: [Row] = [
        Row(
            "an impossible date",
            ["--event-date", "2026-02-30"],
            ExpectedFault(
                2,
                "invalid_detail",
                "\"2026-02-30\" as event date: must be a valid date",
                hint: "--event-date"
            )
        ),
        Row(
            "a date in another order",
            ["--event-date", "30.11.2026"],
            ExpectedFault(2, "invalid_detail", "must be a valid date (YYYY-MM-DD)", hint: "--event-date")
        ),
        Row(
            "a label of 256 characters",
            ["--label", String(repeating: "é", count: 256)],
            ExpectedFault(2, "invalid_detail", "has 256 characters; at most 255 are allowed", hint: "--label")
        ),
        Row(
            "a blank label",
            ["--label", "  "],
            ExpectedFault(2, "invalid_detail", "as label: must not be blank", hint: "--label")
        ),
        Row(
            "an unknown type of event",
            ["--event-type", "funeral"],
            ExpectedFault(2, "invalid_detail", "must be one of band, wedding, other", hint: "--event-type")
        ),
        Row(
            "an organization of 129 characters",
            ["--org-name", String(repeating: "o", count: 129)],
            ExpectedFault(2, "invalid_detail", "at most 128 are allowed", hint: "--org-name")
        ),
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

    @Test func limitOfTheProfileApplies() async throws {
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
        report.expect(ExpectedFault(2, "file_unreadable", "permission denied", hint: "check its permissions"))
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
