import Foundation
import TestSupport
import Testing

/// `scripts/check-imports.py`, which `make lint` runs, against small trees with the names of our modules.
@Suite struct ImportCheckTests {
    /// A tree with some of the real modules' names, each with one file; the sandbox is a package below it.
    private func check(
        _ imports: [String: String],
        declared: [String: [String]] = [:],
        undeclaredDirectory: String? = nil
    ) async throws -> ChildResult {
        let tree = try TemporaryDirectory()
        var targets: [String: [String]] = ["": []]
        for (module, lines) in imports {
            let package = module == "Sandbox" ? "Sandbox/" : ""
            try write(lines + "\n", to: tree.file(package + "Sources/\(module)"), named: "File.swift")
            let dependencies = (declared[module] ?? []).map { "\"\($0)\"" }.joined(separator: ", ")
            targets[package, default: []].append(".target(name: \"\(module)\", dependencies: [\(dependencies)])")
        }
        if let undeclaredDirectory {
            try write("\n", to: tree.file("Sources/\(undeclaredDirectory)"), named: "File.swift")
        }
        for (package, targets) in targets {
            let manifest = """
                // swift-tools-version: 6.1
                import PackageDescription
                let package = Package(name: "tree", targets: [\(targets.joined(separator: ", "))])

                """
            try write(manifest, to: tree.file(package), named: "Package.swift")
        }
        let child = try ChildProcess(Repository.path("scripts/check-imports.py"), [tree.path], home: tree)
        return try await child.finish(deadline: .seconds(120))
    }

    private func write(_ text: String, to directory: String, named name: String) throws {
        try makeDirectory(directory)
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
    }

    private func sortedLines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init).sorted()
    }

    @Test func aTreeThatFollowsTheTablePasses() async throws {
        let result = try await check(
            [
                "MediaTransport": "internal import Foundation",
                "MediaCrypto": #"let text = """\#nimport GigHive\#n""""#,
                "Tus": "public import MediaTransport",
                "GigHive": "internal import MediaTransport\ninternal import Tus // import PhotoSync",
            ],
            declared: ["Tus": ["MediaTransport"], "GigHive": ["MediaTransport", "Tus"]]
        )
        #expect(result.errors == "")
        #expect(result.status == 0)
    }

    @Test func eachInvalidImportIsReported() async throws {
        let result = try await check(
            [
                "MediaTransport": "",
                "MediaFiles": "private import GigHive",
                "GigHive": "import Foundation; @preconcurrency import PhotoSync",
                "PhotoSync": "import struct ArgumentParser.Flag",
                "CaptureSubmission": "import MediaFiles",
                "MediaStore": "public import GRDB",
                "Sandbox": "@testable import MediaTransport",
                "Tapes": "@_exported public import MediaTransport",
                "Surprise": "",
            ],
            declared: [
                "GigHive": ["PhotoSync"], "CaptureSubmission": ["MediaFiles", "MediaTransport"],
                "Sandbox": ["MediaTransport"],
            ],
            undeclaredDirectory: "Forgotten"
        )
        let expected = """
            imports: Sources/MediaFiles/File.swift:1: MediaFiles may not import GigHive, only: CFileSystem MediaCore MediaSystem \
            Outcomes Subprocess SystemPackage
            imports: Sources/GigHive/File.swift:1: GigHive may not import PhotoSync, only: CZlib MediaCore MediaCrypto MediaFiles MediaStore MediaSystem MediaTransport \
            Outcomes Tus
            imports: Package.swift: GigHive may not depend on PhotoSync, only: CZlib MediaCore MediaCrypto MediaFiles MediaStore MediaSystem MediaTransport Outcomes Tus
            imports: Sources/PhotoSync/File.swift:1: PhotoSync may not import ArgumentParser, only: MediaCore MediaCrypto MediaFiles \
            MediaStore MediaSystem MediaTransport Outcomes
            imports: Sources/CaptureSubmission/File.swift:1: CaptureSubmission may not import MediaFiles, only: MediaCore MediaCrypto \
            MediaTransport Outcomes
            imports: Package.swift: CaptureSubmission may not depend on MediaFiles, only: MediaCore MediaCrypto MediaTransport Outcomes
            imports: Package.swift: CaptureSubmission declares MediaTransport, which none of its files imports
            imports: Sources/MediaStore/File.swift:1: types of GRDB must not be in signatures that other modules see
            imports: Sources/MediaStore/File.swift:1: MediaStore imports GRDB, which Package.swift does not declare for it
            imports: Sandbox/Sources/Sandbox/File.swift:1: Sandbox may not import MediaTransport, only: ArgumentParser CLibcrypto GRDB HTTPTypes HummingbirdCore Logging NIOCore NIOHTTPTypes \
            NIOPosix ServiceLifecycle UnixSignals
            imports: Sandbox/Package.swift: Sandbox may not depend on MediaTransport, only: ArgumentParser CLibcrypto GRDB HTTPTypes HummingbirdCore Logging NIOCore NIOHTTPTypes \
            NIOPosix ServiceLifecycle UnixSignals
            imports: Sandbox/Sources/Sandbox/File.swift:1: only tests may use @testable imports
            imports: Sources/Tapes/File.swift:1: only MediaKit re-exports modules
            imports: Sources/Tapes/File.swift:1: Tapes imports MediaTransport, which Package.swift does not declare for it
            imports: Package.swift: Surprise is not in the table of scripts/check-imports.py
            imports: Sources/Forgotten: no target of Package.swift
            """
        #expect(sortedLines(result.errors) == sortedLines(expected))
        #expect(result.status == 1)
    }
}
