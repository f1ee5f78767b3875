import Foundation
import Glibc
import MediaFiles
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Files of a rendering that was killed (tapes contract section 8).
@Suite struct RenderLeftoversTests {
    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(".mediactl-render-") }
    }

    /// A directory for films, and one for the marks.
    private func places() throws -> (temporary: TemporaryDirectory, data: DataDirectory, films: String) {
        let temporary = try TemporaryDirectory(isInMemory: true)
        let films = temporary.file("films")
        try FileManager.default.createDirectory(atPath: films, withIntermediateDirectories: false)
        return (temporary, try DataDirectory.open(temporary.file("data")), films)
    }

    /// Renders in a process of its own, until it is killed.
    private func kill(_ films: String, _ data: String?) async {
        let place = [films, data ?? ""]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            let parent = try #require(try TargetDirectory.open(Array(place[0].utf8), creating: false))
            let data = place[1].isEmpty ? nil : try DataDirectory.open(place[1])
            let workplace = try RenderWorkplace(beside: parent, marking: data)
            try workplace.write("part", as: "0.txt")
            _ = try workplace.link(to: Array("/etc/hostname".utf8), number: 1)
            Glibc.kill(getpid(), SIGKILL)
        }
    }

    @Test("files of a rendering that was killed are found by its mark and removed, wherever they are")
    func killed() async throws {
        let (temporary, data, films) = try places()
        defer { withExtendedLifetime(temporary) {} }
        await kill(films, temporary.file("data"))
        #expect(try names(films).count == 2)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: nil)
        // The parts and the draft beside the film, and the links to the originals.
        let found = try leftovers.find()
        #expect(found.count == 3 && found.allSatisfy { $0.kind == .renderLeftover })
        #expect(try names(films).count == 2)
        #expect(try leftovers.remove().isEmpty)
        #expect(try names(films).isEmpty && leftovers.find().isEmpty)
        for finding in found {
            let path = String(decoding: try #require(finding.path), as: UTF8.self)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        #expect(try RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("files without a mark are found in the working directory only") func unmarked() async throws {
        let (temporary, data, films) = try places()
        defer { withExtendedLifetime(temporary) {} }
        await kill(films, nil)
        #expect(try RenderLeftovers(directory: data, workingDirectory: nil).find().isEmpty)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: Array(films.utf8))
        #expect(try leftovers.find().count == 3)
        #expect(try leftovers.remove().isEmpty && names(films).isEmpty)
    }

    @Test("files of a rendering that runs stay, with a mark and without", arguments: [true, false])
    func running(_ isMarked: Bool) async throws {
        let (temporary, data, films) = try places()
        defer { withExtendedLifetime(temporary) {} }
        let parent = try #require(try TargetDirectory.open(Array(films.utf8), creating: false))
        let workplace = try RenderWorkplace(beside: parent, marking: isMarked ? data : nil)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: Array(films.utf8))
        #expect(try leftovers.find().isEmpty && leftovers.remove().isEmpty)
        #expect(try names(films).count == 2)
        workplace.remove()
        #expect(try names(films).isEmpty)
        #expect(try RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("only names of ours are removed") func foreign() async throws {
        let (temporary, data, films) = try places()
        defer { withExtendedLifetime(temporary) {} }
        let id = UUID().uuidString.lowercased()
        for name in [".mediactl-render-mine", ".mediactl-render-\(id).txt", "film.mp4"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: films + "/" + name))
        }
        try FileManager.default.createSymbolicLink(
            atPath: films + "/.mediactl-render-\(id)",
            withDestinationPath: "/tmp"
        )
        let before = try OriginalsWitness(films)
        #expect(try RenderLeftovers(directory: data, workingDirectory: Array(films.utf8)).remove().isEmpty)
        try before.check()
    }
}
