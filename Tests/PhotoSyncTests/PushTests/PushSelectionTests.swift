import Foundation
import Glibc
import MediaFiles
import TestSupport
import Testing

@testable import PhotoSync

/// Which files of a directory a push uploads.
@Suite struct PushSelectionTests {
    static let unwanted = [
        ".thumbnails/1.jpg", ".Trash-1000/files/2.jpg", "sub/.hidden/3.jpg", "@eaDir/4.jpg", "sub/@eaDir/x/5.jpg",
        "$RECYCLE.BIN/6.jpg", "#recycle/7.jpg", "Trash/8.jpg", "sub/._9.jpg", "Thumbs.db", ".trashed-1-10.jpg",
        storedThumbnail,
    ]
    /// A photo may be called "11.thumbnail.jpg": only the names that `sync download --thumbnails` assigns are excluded.
    static let wanted = [
        "a.jpg", "sub/b.jpg", ".c.jpg", "eaDir/d.jpg", "trashy/e.jpg", "Thumbs.jpg", "2019/08/11.thumbnail.jpg",
    ]
    private static let storedThumbnail = "2019/08/1f0c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b.thumbnail.jpg"

    private func bench() async throws -> PushBench {
        let bench = try await PushBench()
        for name in Self.unwanted + Self.wanted { try bench.write(name) }
        return bench
    }

    @Test func everyDefaultExcludeIsAPattern() {
        #expect(DefaultExcludes.patterns.map(\.text) == DefaultExcludes.texts)
    }

    @Test(arguments: [false, true])
    func trashAndThumbnailsAreExcludedAndListed(isDryRun: Bool) async throws {
        let bench = try await bench()
        let outcome = await bench.push(dryRun: isDryRun)
        let excluded = Set(outcome.items.filter { $0.state == .excluded }.map { relative($0, bench) })
        #expect(
            excluded == [
                ".thumbnails", ".Trash-1000", "sub/.hidden", "@eaDir", "sub/@eaDir", "$RECYCLE.BIN", "#recycle",
                "Trash", "sub/._9.jpg", "Thumbs.db", ".trashed-1-10.jpg", Self.storedThumbnail,
            ]
        )
        let rest = Set(outcome.items.filter { $0.state != .excluded }.map { relative($0, bench) })
        #expect(rest == Set(Self.wanted))
    }

    @Test func excludesCanBeTurnedOff() async throws {
        let bench = try await bench()
        let outcome = await bench.pushWith(dryRun: true) { $0.usesDefaultExcludes = false }
        #expect(outcome.items.count == Self.wanted.count + Self.unwanted.count)
        #expect(!outcome.items.contains { $0.state == .excluded })
    }

    /// Specified files are uploaded, even in a hidden directory.
    @Test func aSpecifiedDirectoryIsNotExcluded() async throws {
        let bench = try await bench()
        let outcome = await bench.push(
            [Array(bench.photos.file(".thumbnails").utf8), Array(bench.photos.file("sub/._9.jpg").utf8)],
            dryRun: true
        )
        #expect(outcome.states == ["1.jpg": .planned, "._9.jpg": .planned])
    }

    /// Files excluded by the user are not listed.
    @Test func excludesOfTheUserComeFirst() async throws {
        let bench = try await bench()
        let filter = PathFilter(excludes: [try GlobPattern(".*"), try GlobPattern("sub")])
        let outcome = await bench.pushWith(dryRun: true) { $0.filter = filter }
        let excluded = Set(outcome.items.filter { $0.state == .excluded }.map { relative($0, bench) })
        #expect(excluded == ["@eaDir", "$RECYCLE.BIN", "#recycle", "Trash", "Thumbs.db", Self.storedThumbnail])
    }

    /// A photo that is too large is not backed up, regardless of where it was found.
    @Test func aLargePhotoOfADirectoryIsAFailure() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg")
        try bench.write("large.jpg", "")
        try FileHandle(forWritingTo: URL(fileURLWithPath: bench.photos.file("large.jpg")))
            .truncate(atOffset: 52_428_801)
        let outcome = await bench.push()
        #expect(outcome.states == ["a.jpg": .uploaded, "large.jpg": .failed])
        #expect(outcome.item("large.jpg")?.error?.code == .fileTooLarge)
        #expect(outcome.result?.counts == [.uploaded: 1, .failed: 1])
    }

    /// A dangling link is a failure only if it may be a photo.
    @Test func danglingLinksThatAreNotPhotosAreSkipped() async throws {
        let bench = try await PushBench()
        for name in ["README", ".#notes.txt", "photo.jpg"] { symlink("nowhere", bench.photos.file(name)) }
        let outcome = await bench.push()
        #expect(outcome.states == ["README": .skipped, ".#notes.txt": .skipped, "photo.jpg": .failed])
        #expect(outcome.item("README")?.error?.code == .unknownExtension)
        #expect(outcome.item("photo.jpg")?.error?.code == .fileUnreadable)
    }

    @Test func linkedDirectoriesAreSkippedUnlessTheyAreSpecified() async throws {
        let bench = try await PushBench()
        let elsewhere = try TemporaryDirectory()
        try Data("a photo".utf8).write(to: URL(fileURLWithPath: elsewhere.file("a.jpg")))
        symlink(elsewhere.path, bench.photos.file("album"))
        let all = Array(bench.photos.path.utf8)
        let outcome = await bench.push([all])
        #expect(outcome.states == ["album": .skipped])
        #expect(outcome.item("album")?.error?.code == .isDirectory)
        #expect(await bench.push([all, Array(bench.photos.file("album").utf8)]).states == ["a.jpg": .uploaded])
    }

    private func relative(_ item: PushItem, _ bench: PushBench) -> String {
        String(String(decoding: item.path, as: UTF8.self).dropFirst(bench.photos.path.count + 1))
    }
}
