import Foundation
import MediaStore
import TestSupport
import Testing

/// Thousands of files in one run: each has exactly one result, and nothing is sent or read twice.
@Suite struct ManyFilesTests {
    static let count = 2000

    /// A directory of small movies, each with unique bytes.
    private func makeMovies(_ count: Int, in bench: Bench, _ name: String) throws -> String {
        let directory = bench.runner.home.file(name)
        try makeDirectory(directory)
        let start = Data([0, 0, 0, 0x18] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8))
        for number in 0..<count {
            try (start + Data("\(name) \(number)".utf8))
                .write(to: URL(fileURLWithPath: "\(directory)/\(number).mp4"))
        }
        return directory
    }

    private func upload(_ directory: String, _ bench: Bench, _ more: [String] = []) -> [String] {
        // A server on loopback has processed the upload long before it is queried.
        ["upload", directory, "--recursive", "-j", "8", "--json", "--settle-timeout", "0.2"] + bench.login + more
    }

    @Test func twoThousandFilesWithFaultsHaveOneResultEach() async throws {
        let sandbox = try await SandboxProcess.start(
            faults: ["upload:reset,after=200,every=80", "upload:status=503,every=81"]
        )
        let bench = try Bench(sandbox.baseURL)
        let directory = try makeMovies(Self.count, in: bench, "many")
        let reportPath = bench.runner.home.file("report.json")

        // Without retries, one upload in forty fails.
        let first = try await bench.runner.run(
            upload(directory, bench, ["--retries", "0", "--report", reportPath]),
            deadline: .seconds(300)
        )
        #expect(first.exitCode == 3, "\(first.errors.suffix(2000))")
        try await expectReportEqualsListing(bench, sandbox, reportPath, first.items)
        let failed = try bench.report(reportPath).count { $0["state"] as? String != "done" }
        #expect((40...60).contains(failed), "\(failed) of \(Self.count)")

        // Retries the failed files.
        try await sandbox.clearFaults()
        let second = try await bench.runner.run(
            ["upload", "--retry-failed", reportPath, "--json", "--settle-timeout", "0.2"] + bench.login,
            deadline: .seconds(120)
        )
        #expect(second.exitCode == 0, "\(second.errors.suffix(2000))")
        #expect(second.states.count == failed)
        let objects = try await sandbox.objects()
        #expect(objects.count == Self.count)
        #expect(objects.values.allSatisfy { $0.count == 1 })

        try await expectNothingToDo(bench, sandbox, directory)
    }

    /// Every file is in the report once, and the files reported as stored are those that the server lists.
    private func expectReportEqualsListing(
        _ bench: Bench,
        _ sandbox: SandboxProcess,
        _ reportPath: String,
        _ items: [[String: Any]]
    ) async throws {
        let report = try bench.report(reportPath)
        #expect(report.count == Self.count)
        #expect(Set(report.compactMap { $0["path"] as? String }).count == Self.count)
        #expect(items.count == Self.count, "one record per file")
        let ends = Dictionary(grouping: report) { $0["state"] as? String ?? "none" }
        #expect(Set(ends.keys).isSubset(of: ["done", "failed", "token_lost", "unknown_outcome"]), "\(ends.keys)")
        let stored = (ends["done", default: []] + ends["token_lost", default: []])
            .compactMap { $0["checksum_sha256"] as? String }
        let objects = try await sandbox.objects()
        #expect(Set(stored) == Set(objects.keys))
        #expect(stored.count == objects.count)
        #expect(objects.values.allSatisfy { $0.count == 1 })
    }

    /// A repeated command over unchanged files sends nothing, reads nothing, and requests one listing.
    private func expectNothingToDo(_ bench: Bench, _ sandbox: SandboxProcess, _ directory: String) async throws {
        let before = try await sandbox.requests().count
        let tracePath = bench.runner.home.file("trace")
        let again = try await bench.runner.run(
            upload(directory, bench),
            through: SystemCallTrace.isAvailable
                ? SystemCallTrace.wrapper(writing: tracePath, calls: "read,pread64,readv,preadv,mmap,sendfile") : [],
            deadline: .seconds(120)
        )
        #expect(again.exitCode == 0, "\(again.errors.suffix(2000))")
        #expect(again.states.count == Self.count)
        #expect(Set(again.states) == ["duplicate"])
        let requests = try await sandbox.requests().dropFirst(before)
        let pages = requests.filter { $0.path.hasPrefix("/db/database.php") && !$0.path.contains("&date=") }
        #expect(requests.allSatisfy { $0.method == "GET" })
        #expect(Set(pages.map(\.path)).count == pages.count, "each page once")
        // The first two files of a run are looked up individually, each also in the listing of its day, because most runs
        // have only a few.
        let dayPages = (Self.count + 749) / 750
        #expect(requests.count - pages.count <= 2 * (1 + dayPages), "\(requests.map(\.path).prefix(20))")
        if SystemCallTrace.isAvailable {
            let reads = try SystemCallTrace(contentsOf: tracePath).calls.filter { $0.text.contains("<\(directory)/") }
            #expect(reads.isEmpty, "\(reads.count) reads, the first: \(reads.first?.text.prefix(200) ?? "")")
        }
    }
}
