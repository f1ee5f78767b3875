import ArgumentParser
import Foundation
import MediaStore
import Tapes
import Testing

@testable import MediaCLI

@Suite struct TapeParsingTests {
    @Test func addTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "tapes", "add", "Summer", "a.mp4", "b.jpg", "--files-from", "l", "--files-from0", "z", "--from-upload",
                "-", "--uploaded", "18", "--uploaded", "u-abc", "--uploaded-last", "--allow-missing", "--live",
                "--strict-albums", "--no-checksum", "--dry-run", "--library", "immich", "--library-url", "https://h",
                "--profile", "p", "--api-key-file", "k", "--retries", "0", "--json", "--progress-events",
            ]) as? TapesAdd
        )
        #expect(command.tape == "Summer" && command.files == ["a.mp4", "b.jpg"])
        #expect(command.input.fromUpload == "-" && command.input.uploaded == ["18", "u-abc"])
        #expect(command.input.uploadedLast && command.input.allowMissing && command.input.live)
        #expect(command.adding.strictAlbums && command.adding.noChecksum && command.adding.dryRun)
        let flags = command.connection.flags
        #expect(flags[.albumsLibrary] == "immich" && flags[.libraryURL] == "https://h" && flags.profile == "p")
        #expect(flags[.retries] == "0" && flags[.server] == nil)
    }

    @Test func setTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "tapes", "set", "T", "--clip", "#1", "--clip", "81d2", "--trim-start", "1.5", "--trim-end", "2s",
                "--rotate",
                "180", "--volume", "1", "--image-duration", "1m", "--scale", "tape",
            ]) as? TapesSet
        )
        let change = try command.ofClips.change(scale: command.scale)
        #expect(command.clips == ["#1", "81d2"])
        #expect(change.trimStartMilliseconds == 1500 && change.trimEndMilliseconds == 2000)
        #expect(change.rotateQuarterTurns == 2 && change.imageMilliseconds == 60_000)
        #expect(change.volume == .some(nil) && change.scaleOverride == .some(nil))
        let tape = try #require(
            try TapesCommand.parseAsRoot(["set", "T", "--transition", "slide-rl", "--scale", "fit"])
                as? TapesSet
        )
        #expect(try tape.ofTape.change(scale: tape.scale).transition == .slideRightToLeft)
        #expect(try tape.ofTape.change(scale: tape.scale).scaleMode == .fit)
    }

    @Test func uploadTakesATape() throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["upload", "a", "--tape", "T"]) as? Upload)
        #expect(command.sending.tape == "T")
    }

    @Test(arguments: [
        ["add"], ["add", "T"], ["add", "T", ""], ["add", "T", "a", "--no-album", "--strict-albums"],
        ["add", "T", "--files-from", "-", "--from-upload", "-"], ["add", "T", "--uploaded", "x"],
        ["add", "T", "--files-from", ""], ["add", "T", "--files-from", "-", "--api-key-stdin"],
        ["add", "T", "a", "--api-key-stdin", "--api-key-file", "k"], ["insert", "T", "a"],
        ["insert", "T", "a", "--at", "x"],
        ["move", "T", "#1"], ["move", "T", "--to", "1"], ["move", "T", "1", "--position", "0"],
        ["move", "T", "1", "--position", "1", "--to", "0"], ["insert", "T", "a", "--position", "0"],
        ["insert", "T", "a", "--position", "1", "--at", "0"],
        ["remove", "T"], ["delete"],
        ["delete", "T", "--all"],
        ["rename", "T"], ["set", "T"], ["set", "T", "--rotate", "90"], ["set", "T", "--scale", "tape"],
        ["set", "T", "--clip", "#1"], ["set", "T", "--clip", "#1", "--orientation", "portrait"],
        ["set", "T", "--scale", "wide"], ["relink"], ["relink", "T", "--in", ""], ["export"],
        ["export", "T", "--json"],
        ["export", "T", "--render"], ["export", "T", "--render", "-o", "a.mp4", "--format", "json"],
        ["export", "T", "--render", "-o", "a.avi"], ["export", "T", "--render", "-o", "a"],
        ["export", "T", "--add-to-album"], ["export", "T", "--render", "-o", "a.mp4", "--add-to-album", "--no-album"],
        ["export", "T", "--long-side", "720"], ["export", "T", "--render", "-o", "a.mp4", "--long-side", "721"],
        ["export", "T", "--render", "-o", "a.mp4", "--frame-rate", "0"], ["export", "T", "-o", ""],
        ["reconcile", "--apply", "--verify"], ["reconcile", "--limit", "3"], ["reconcile", "--apply", "--limit", "0"],
        ["album", "link", "T"], ["album", "link", "T", ""], ["library", "make"],
        ["list", "--library", "immich"], ["show", "T", "--library", "folder", "--library-url", "https://h"],
        ["export", "T", "--force"], ["export", "T", "--force", "-o", "-"],
        ["move", "T", "1", "--position", "2", "--insecure"],
    ])
    func conflictingTapeOptionsAreUsageErrors(words: [String]) {
        #expect(throws: (any Error).self) { try TapesCommand.parseAsRoot(words) }
    }

    /// Options that only affect uploads.
    @Test(arguments: [["-j", "2"], ["--limit-rate", "1M"]])
    func optionsOfUploadsAreRefusedWithoutAnUpload(option: [String]) throws {
        let uploading = [
            ["add", "T", "a"], ["insert", "T", "a", "--position", "1"], ["duplicate", "T"], ["export", "T"],
            ["reconcile", "--apply"], ["repair"], ["library", "grant"],
        ]
        for words in uploading { _ = try TapesCommand.parseAsRoot(words + option) }
        let others = [
            ["add", "T", "a", "--no-album"], ["insert", "T", "a", "--position", "1", "--no-album"],
            ["duplicate", "T", "--no-album"], ["export", "T", "--no-album"], ["reconcile"], ["reconcile", "--verify"],
            ["library", "grant", "--no-reconcile"], ["library", "status"], ["library", "init"], ["verify"],
            ["remove", "T", "1"], ["delete", "T"], ["move", "T", "1", "--position", "2"], ["album", "link", "T", "a"],
        ]
        for words in others {
            _ = try TapesCommand.parseAsRoot(words)
            #expect(throws: (any Error).self, "\(words)") { try TapesCommand.parseAsRoot(words + option) }
        }
    }

    @Test(arguments: [
        ["--trim-start", "soon"], ["--rotate", "45"], ["--volume", "1.5"], ["--volume", "-1"], ["--volume", "nan"],
        ["--image-duration=-1"],
    ])
    func valuesOutOfRangeAreRefused(words: [String]) throws {
        let command = try #require(
            try TapesCommand.parseAsRoot(["set", "T", "--clip", "#1"] + words) as? TapesSet
        )
        #expect(throws: UserFacingError.self) { try command.ofClips.change(scale: nil) }
    }

    @Test(arguments: ["99", "2001", "-1"])
    func transitionsHaveLimits(text: String) throws {
        let command = try #require(
            try TapesCommand.parseAsRoot(["set", "T", "--transition-ms", text]) as? TapesSet
        )
        #expect(throws: UserFacingError.self) { try command.ofTape.change(scale: nil) }
    }

    // Contract section 8.
    @Test func commandsAreThoseOfTheContract() {
        func names(_ command: any ParsableCommand.Type) -> [String] {
            command.configuration.subcommands.map { $0._commandName }
        }
        #expect(
            names(TapesCommand.self) == [
                "create", "list", "show", "rename", "duplicate", "delete", "add", "insert", "remove", "move", "set",
                "relink", "export", "reconcile", "verify", "repair", "album", "library",
            ]
        )
        #expect(names(TapesAlbum.self) == ["show", "link", "unlink"])
        #expect(names(TapesLibrary.self) == ["status", "init", "grant"])
    }
}
