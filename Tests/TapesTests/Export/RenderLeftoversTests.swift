import Foundation
import Glibc
import MediaFiles
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Files left by a killed rendering (tapes contract section 8).
@Suite struct RenderLeftoversTests {
    let temporary: TemporaryDirectory
    let data: DataDirectory
    let films: String

    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(".mediactl-render-") }
    }

    /// A directory for films, and one for the marks.
    init() throws {
        temporary = try TemporaryDirectory(isInMemory: true)
        films = temporary.file("films")
        try FileManager.default.createDirectory(atPath: films, withIntermediateDirectories: false)
        data = try DataDirectory.open(temporary.file("data"))
    }

    /// Renders in a separate process, until it is killed.
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

    @Test("files of a killed rendering are found by its mark and removed, wherever they are")
    func killed() async throws {
        await kill(films, temporary.file("data"))
        #expect(try names(films).count == 2)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: nil)
        // The parts and the draft next to the film, and the links to the originals.
        let found = try leftovers.find()
        #expect(found.count == 3 && found.allSatisfy { $0.kind == .renderLeftover })
        #expect(try names(films).count == 2)
        #expect(try leftovers.remove(found).isEmpty)
        #expect(try names(films).isEmpty && leftovers.find().isEmpty)
        for finding in found {
            let path = String(decoding: try #require(finding.path), as: UTF8.self)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        #expect(try RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("files without a mark are found only in the working directory") func unmarked() async throws {
        await kill(films, nil)
        #expect(try RenderLeftovers(directory: data, workingDirectory: nil).find().isEmpty)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: Array(films.utf8))
        let found = try leftovers.find()
        #expect(found.count == 3)
        #expect(try leftovers.remove(found).isEmpty && names(films).isEmpty)
    }

    @Test("links in the temporary directory do not prove that their rendering was killed") func linksOfOthers() throws {
        // The other process has a different data directory.
        let parent = try #require(try TargetDirectory.open(Array(films.utf8), creating: false))
        let workplace = try RenderWorkplace(beside: parent)
        defer { workplace.remove() }
        let name = try #require(try names(films).min())
        let system = RenderLeftovers(directory: data, workingDirectory: Array(NSTemporaryDirectory().utf8))
        #expect(FileManager.default.fileExists(atPath: NSTemporaryDirectory() + "/\(name)-links"))
        #expect(try !system.find().contains { String(decoding: $0.path ?? [], as: UTF8.self).contains(name) })
    }

    @Test("only files that were found are removed, and the mark with the last of them") func foundOnly() async throws {
        await kill(films, temporary.file("data"))
        let leftovers = RenderLeftovers(directory: data, workingDirectory: nil)
        let found = try leftovers.find()
        #expect(try leftovers.remove(Array(found.prefix(1))).isEmpty)
        #expect(try leftovers.find() == Array(found.dropFirst()))
        #expect(try leftovers.remove(found).isEmpty && RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("the mark is kept while a directory cannot be read") func unmounted() async throws {
        let disk = temporary.file("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: films, toPath: disk + "/films")
        await kill(disk + "/films", temporary.file("data"))
        let leftovers = RenderLeftovers(directory: data, workingDirectory: nil)
        // Without the parent, and with a file in place of the directory.
        try FileManager.default.moveItem(atPath: disk, toPath: temporary.file("away"))
        #expect(try leftovers.remove(leftovers.find()).isEmpty)
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: disk + "/films"))
        #expect(try leftovers.remove(leftovers.find()).isEmpty)
        #expect(try RenderMark.all(in: data).abandoned.count == 1)
        try FileManager.default.removeItem(atPath: disk)
        try FileManager.default.moveItem(atPath: temporary.file("away"), toPath: disk)
        #expect(try leftovers.find().count == 2)
        // Removed by hand.
        try FileManager.default.removeItem(atPath: disk + "/films")
        #expect(try leftovers.find().isEmpty && leftovers.remove([]).isEmpty)
        #expect(try RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("files of a timeline and of a dry run are found after a kill", arguments: [true, false])
    func temporaryFiles(_ isTimeline: Bool) async throws {
        try Data("x".utf8).write(to: URL(fileURLWithPath: films + "/a.mp4"))
        for name in ["ffmpeg", "ffprobe"] {
            try Data("#!/bin/sh\nkill -9 $PPID\n".utf8).write(to: URL(fileURLWithPath: temporary.file(name)))
            try #require(chmod(temporary.file(name), 0o755) == 0)
        }
        let place = [temporary.path, isTimeline ? "timeline" : "dry run"]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            let data = try DataDirectory.open(place[0] + "/data")
            let clips = [ExportFixtures.video(place[0] + "/films/a.mp4", 1000)]
            if place[1] == "timeline" {
                _ = try await ClipMedia.read(clips, searchPath: place[0], directory: data)
            } else {
                try await TapeRendering(searchPath: place[0], directory: data)
                    .check(ExportFixtures.tape(), clips: clips)
            }
        }
        let leftovers = RenderLeftovers(directory: data, workingDirectory: nil)
        let found = try leftovers.find()
        #expect(found.count == 3)
        #expect(try leftovers.remove(found).isEmpty && leftovers.find().isEmpty)
    }

    @Test("files of a running rendering are kept, with and without a mark", arguments: [true, false])
    func running(_ isMarked: Bool) async throws {
        let parent = try #require(try TargetDirectory.open(Array(films.utf8), creating: false))
        let workplace = try RenderWorkplace(beside: parent, marking: isMarked ? data : nil)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: Array(films.utf8))
        #expect(try leftovers.find().isEmpty && leftovers.remove([]).isEmpty)
        #expect(try names(films).count == 2)
        workplace.remove()
        #expect(try names(films).isEmpty)
        #expect(try RenderMark.all(in: data).abandoned.isEmpty)
    }

    @Test("only the program's own names are removed") func foreign() async throws {
        let id = UUID().uuidString.lowercased()
        for name in [".mediactl-render-mine", ".mediactl-render-\(id).txt", "film.mp4"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: films + "/" + name))
        }
        try makeLink(films + "/.mediactl-render-\(id)", to: "/tmp")
        let before = try OriginalsWitness(films)
        let leftovers = RenderLeftovers(directory: data, workingDirectory: Array(films.utf8))
        #expect(try leftovers.remove(leftovers.find()).isEmpty)
        try before.check()
    }
}
