import Foundation
import TestSupport
import Testing

/// The recorded commands send the same requests as in 0.1.0.
///
/// `MEDIACTL_RECORD_REQUESTS=1` records them again, with the program in `MEDIACTL_GUARD_BINARY` if it is set. The
/// recordings are frozen: a changed one needs a reason in `fixtures/frozen-changes.txt`.
@Suite struct RecordedRequestsTests {
    private static let folder = Guarded.fixtures + "/requests"

    @Test(arguments: RequestScript.all.map(\.name)) func requestsAreThoseOf010(name: String) async throws {
        let script = try #require(RequestScript.all.first { $0.name == name })
        let sandbox = try await SandboxProcess.start(arguments: script.arguments)
        let proxy = try RecordingProxy(before: sandbox.port)
        let runner = try Self.machine(before: proxy)
        for (number, year) in [2018, 2019].enumerated() where name == "photos" {
            try await sandbox.addPhotos(
                #"{"user":"alice@example.test","content":"taken in \#(year)","originalFilename":"IMG_\#(number).jpg","#
                    + #""dateTaken":"\#(year)-07-01T09:00:00Z","uploadedAt":"\#(year + 7)-05-01T09:00:00Z"}"#
            )
        }
        var text = ""
        var kept: [String: String] = [:]
        for step in script.steps {
            var line = step.line
            for (key, value) in kept { line = line.replacing("{\(key)}", with: value) }
            for fault in step.faults { try await sandbox.addFaults(fault) }
            let words = ["-C", runner.home.path, runner.executable] + line.split(separator: " ").map(String.init)
            let result = try await ChildProcess.run(
                "/usr/bin/env",
                words,
                environment: runner.environment.merging(step.environment) { $1 }
            )
            if !step.faults.isEmpty { try await sandbox.clearFaults() }
            if let key = step.kept {
                kept[key] = try #require(try result.records().lazy.compactMap { $0[key] as? String }.first, "\(result)")
            }
            text += "$ mediactl \(step.line)\n" + Self.shapes(of: proxy.takeRequests()) + "[\(result.status)]\n\n"
        }
        try Self.compare(text, name)
    }

    @Test func requestsToALibraryAreThoseOf010() async throws {
        let server = try await ImmichStandIn.start()
        let origin = try #require(URL(string: server.address))
        let proxy = try RecordingProxy(before: try #require(origin.port))
        let runner = try Self.machine(before: proxy)
        let address = proxy.address + origin.path
        var text = ""
        for line in [
            "tapes library init --api-key-file library-key.txt", "tapes library status", "tapes create Sea",
            "tapes add Sea first.mp4 Pictures/one.jpg", "tapes insert Sea second.mp4 --at 0", "tapes album show Sea",
            "tapes rename Sea Ocean", "tapes reconcile --verify", "tapes remove Ocean #1 --yes",
            "tapes album unlink Ocean",
            "tapes delete Ocean --yes", "logout --server \(address)",
        ] {
            let result = try await ChildProcess.run(
                "/usr/bin/env",
                ["-C", runner.home.path, runner.executable] + line.split(separator: " ").map(String.init),
                environment: runner.environment.merging([
                    "MEDIACTL_LIBRARY_URL": address, "MEDIACTL_FEATURE_DELETE_ALBUM": "1",
                ]) { $1 }
            )
            text += "$ mediactl \(line.replacing(address, with: "URL"))\n" + Self.shapes(of: proxy.takeRequests())
            text += "[\(result.status)]\n\n"
        }
        try Self.compare(text, "library")
    }

    /// A machine with some files, and the proxy as its server.
    private static func machine(before proxy: RecordingProxy) throws -> BinaryRunner {
        var runner = try Guarded.runner()
        runner.environment.merge([
            "MEDIACTL_SERVER": proxy.address, "MEDIACTL_CAPTURE_URL": proxy.address, "MEDIACTL_USER": "uploader",
            "MEDIACTL_PASSWORD": "uploader",
        ]) { $1 }
        let clip = try Repository.data("fixtures/media/clip.mp4")
        let picture = Data([0xFF, 0xD8, 0xFF, 0xE0])
        var files = ["first", "second", "third", "fourth", "fifth"].map { ($0 + ".mp4", clip + Data($0.utf8)) }
        files += ["long", "longer"].map { ($0 + ".mp4", clip + Data($0.utf8) + Data(count: 200_000)) }
        files += ["one", "two"].map { ("Pictures/\($0).jpg", picture + Data($0.utf8)) }
        files += ["square", "round", "full"].map { ($0 + ".jpg", picture + Data($0.utf8)) }
        files.append(("square.f32", ([1, 2, 3, 4, 5, 6, 7, 8, 9] as [Float]).withUnsafeBytes { Data($0) }))
        files.append(("key.txt", Data((SandboxProcess.aliceKey + "\n").utf8)))
        files.append(("library-key.txt", Data("key-1\n".utf8)))
        files.append(("link.txt", Data("\(proxy.address)/upload/\(String(repeating: "L", count: 43))\n".utf8)))
        try makeDirectory(runner.home.file("Pictures"))
        for (name, data) in files {
            try data.write(to: URL(filePath: runner.home.file(name)))
            try #require(chmod(runner.home.file(name), 0o600) == 0)
        }
        return runner
    }

    /// Consecutive requests of one shape are written once: the number of chunks of a file depends on the time each
    /// takes.
    private static func shapes(of requests: [RecordingProxy.Request]) -> String {
        var last: [String] = []
        return requests.reduce(into: "") { text, request in
            let lines = RequestShape(request).lines
            if lines != last { text += lines.joined(separator: "\n") + "\n" }
            last = lines
        }
    }

    private static func compare(_ text: String, _ name: String) throws {
        let path = "\(folder)/\(name).txt"
        if ProcessInfo.processInfo.environment["MEDIACTL_RECORD_REQUESTS"] == "1" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let recorded = try String(contentsOfFile: path, encoding: .utf8)
        let (new, old) = (text.components(separatedBy: "\n\n"), recorded.components(separatedBy: "\n\n"))
        #expect(new.count == old.count)
        for (new, old) in zip(new, old) {
            #expect(inOrder(new) == inOrder(old))
        }
    }

    /// The requests of one command. `sync status` sends several concurrently, which arrive in any order.
    private static func inOrder(_ block: String) -> [String] {
        var requests: [String] = []
        for line in block.split(separator: "\n").map(String.init) {
            if line.hasPrefix("  "), let last = requests.indices.last {
                requests[last] += "\n" + line
            } else {
                requests.append(line)
            }
        }
        return block.hasPrefix("$ mediactl sync status") ? requests.sorted() : requests
    }
}
