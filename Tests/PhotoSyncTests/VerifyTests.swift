import Foundation
import Glibc
import MediaCrypto
import MediaStore
import MediaSystem
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// Comparing index, copies and server, without changing any of them.
@Suite struct VerifyTests {
    private func verify(
        _ bench: PullBench,
        readsContent: Bool = false
    ) async throws -> (result: VerificationResult, differences: [SyncDifference]) {
        let found = Mutex<[SyncDifference]>([])
        let hashes = HashCache(directory: bench.directory.file("cache"))
        let result = try await Verification(bench.account, hashes: hashes, readsContent: readsContent)
            .run(onDifference: { difference in found.withLock { $0.append(difference) } })
        return (result, found.withLock { $0 })
    }

    /// A file on this machine that is recorded as a photo with the bytes `content`.
    @discardableResult
    private func addCopy(
        _ bench: PullBench,
        of photo: String,
        _ content: String?,
        state: PhotoCopy.State = .present
    ) async throws -> PhotoCopy {
        let path = bench.directory.file("\(photo).jpg")
        if let content { try Data(content.utf8).write(to: URL(fileURLWithPath: path)) }
        let copy = PhotoCopy(
            server: bench.account.server,
            photoID: photo,
            path: Array(path.utf8),
            temporaryName: state == .present ? nil : "x.part",
            state: state,
            source: .downloaded,
            // Computed with `printf content | sha256sum`.
            sha256: "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73",
            serverSHA256: String(repeating: "0", count: 64)
        )
        try await bench.account.library.keep([copy])
        return copy
    }

    @Test func equalFilesAreNotADifference() async throws {
        let bench = try await PullBench(ServerPhotos(7)).pulled()
        try await addCopy(bench, of: ServerPhotos.photo(3).id, "content")
        let (result, differences) = try await verify(bench)
        #expect((result.photos, result.copies) == (7, 1))
        #expect(differences.isEmpty)
        #expect(result.counts.isEmpty)
    }

    /// A copy that does not exist was not compared, even if the photo is in another file; a name that is only
    /// reserved is not an unfinished download.
    @Test func missingCopiesAreNotCompared() async throws {
        let bench = try await PullBench(ServerPhotos(4)).pulled()
        var copy = try await addCopy(bench, of: ServerPhotos.photo(1).id, "content")
        for name in ["moved", "lost"] {
            copy.path = Array(bench.directory.file(name).utf8)
            try await bench.account.library.keep([copy])
        }
        copy = try await addCopy(bench, of: ServerPhotos.photo(2).id, nil, state: .planned)
        // A file with this name is missing, and the download that was to replace it failed.
        #expect(try await verify(bench).differences.map(\.kind) == [.copyMissing])
        copy.sha256 = nil
        try await bench.account.library.keep([copy])
        let (result, differences) = try await verify(bench)
        #expect((result.photos, result.copies) == (4, 1))
        #expect(differences.isEmpty)
    }

    /// Only a copy that exists can be uploaded again or have its deletion accepted.
    @Test(
        arguments: [
            (.present, nil, []), (.planned, nil, []), (.written, nil, []), (.unverified, nil, []),
            (.present, "", [.copyOrphaned]), (.present, "x.part", []), (.planned, "x.part", []),
            (.unverified, "x.part", [.copyOrphaned]),
        ] as [(PhotoCopy.State, String?, [SyncDifference.Kind])]
    )
    func aMissingCopyOfADeletedPhotoIsNotADifference(
        state: PhotoCopy.State,
        file: String?,
        kinds: [SyncDifference.Kind]
    ) async throws {
        let bench = try PullBench(ServerPhotos(3))
        let id = ServerPhotos.photo(1).id
        bench.server.change { $0.serverPhotos.remove(id) }
        _ = try await bench.pull().run()
        let copy = try await addCopy(bench, of: id, file == "" ? "content" : nil, state: state)
        if let file, !file.isEmpty {
            try Data("part".utf8).write(to: URL(fileURLWithPath: bench.directory.file(file)))
        }
        let differences = try await verify(bench).differences
        #expect(differences.map(\.kind) == kinds)
        // The path belongs to the partial or missing file.
        let path = file.map { $0.isEmpty ? copy.path : Array(bench.directory.file($0).utf8) }
        #expect(differences.first?.path == (kinds.isEmpty ? nil : path))
    }

    /// An accepted deletion applies until the photo is listed again, for example because the server was restored from a
    /// backup: a later deletion of the photo must be accepted again.
    @Test(arguments: [false, true]) func copiesWithAnAcceptedDeletionAreNotReported(isFull: Bool) async throws {
        let bench = try await PullBench(ServerPhotos(3)).pulled()
        let photo = ServerPhotos.photo(1)
        bench.server.change { $0.serverPhotos.remove(photo.id) }
        // A changed copy of a deleted photo is reported as well.
        try await addCopy(bench, of: photo.id, "changed")
        _ = try await bench.pull(full: true).run()
        #expect(try await verify(bench).differences.map(\.kind) == [.copyOrphaned, .copyChanged])
        let hashes = HashCache(directory: bench.directory.file("cache"))
        let accepted = try await DeletionAcceptance(bench.account, hashes: hashes).run([Array(photo.id.utf8)])
        #expect(accepted.map(\.state) == [.forgotten])
        #expect(try await verify(bench).differences.isEmpty)
        bench.server.change { $0.serverPhotos.insert(photo) }
        _ = try await bench.pull(full: isFull).run()
        bench.server.change { $0.serverPhotos.remove(photo.id) }
        _ = try await bench.pull(full: true).run()
        #expect(try await verify(bench).differences.map(\.kind) == [.copyOrphaned, .copyChanged])
    }

    /// The path that verify prints.
    @Test(arguments: ["a.jpg.unverified", "a.jpg.2.unverified"])
    func anUnverifiedCopyIsForgottenByItsName(name: String) async throws {
        let bench = try await PullBench(ServerPhotos(3)).pulled()
        let id = ServerPhotos.photo(1).id
        bench.server.change { $0.serverPhotos.remove(id) }
        _ = try await bench.pull(full: true).run()
        var copy = try await addCopy(bench, of: id, nil, state: .unverified)
        try bench.account.library.remove([copy])
        (copy.path, copy.temporaryName) = (Array(bench.directory.file("a.jpg").utf8), name)
        try await bench.account.library.keep([copy])
        let file = try bench.directory.write(name, "not verified".utf8)
        #expect(try await verify(bench).differences.map(\.path) == [Array(file.utf8)])
        let hashes = HashCache(directory: bench.directory.file("cache"))
        let accepted = try await DeletionAcceptance(bench.account, hashes: hashes).run([Array(file.utf8)])
        #expect(accepted.map(\.state) == [.forgotten] && accepted.map(\.photoID) == [id])
        #expect(try await verify(bench).differences.isEmpty)
    }

    /// Whether an unreadable copy changed is unknown.
    @Test func unreadableCopiesAreNeitherMissingNorChanged() async throws {
        let bench = try await PullBench(ServerPhotos(3)).pulled()
        var copy = try await addCopy(bench, of: ServerPhotos.photo(1).id, "content")
        try bench.account.library.remove([copy])
        symlink("loop", bench.directory.file("loop"))
        copy.path = Array(bench.directory.file("loop/a.jpg").utf8)
        try await bench.account.library.keep([copy])
        let (result, differences) = try await verify(bench)
        #expect(differences.map(\.kind) == [.copyUnreadable])
        #expect(differences.first?.found == "too many levels of symbolic links")
        #expect(result.copies == 0)
        // A file in place of the directory.
        try bench.account.library.remove([copy])
        copy.path = Array(bench.directory.file("\(ServerPhotos.photo(1).id).jpg/a.jpg").utf8)
        try await bench.account.library.keep([copy])
        #expect(try await verify(bench).differences.map(\.kind) == [.copyMissing])
    }

    @Test func everyDifferenceIsReportedAndNothingChanged() async throws {
        let bench = try await PullBench(ServerPhotos(9)).pulled()
        let ids = (0..<9).map { ServerPhotos.photo($0).id }
        bench.server.change { state in
            state.serverPhotos.remove(ids[0])
            state.serverPhotos.setOrigin(ServerPhotos.device, of: ids[1])
            var renamed = ServerPhotos.photo(2)
            renamed.originalFilename = "other.jpg"
            state.serverPhotos.remove(ids[2])
            state.serverPhotos.insert(renamed)
            state.serverPhotos.insert(ServerPhotos.photo(20))
            state.requests = []
        }
        try await addCopy(bench, of: ids[0], "content")
        try await addCopy(bench, of: ids[3], nil)
        try await addCopy(bench, of: ids[4], "Content")
        try await addCopy(bench, of: ids[5], nil, state: .planned)
        try Data("part".utf8).write(to: URL(fileURLWithPath: bench.directory.file("x.part")))
        try await addCopy(bench, of: ids[6], "")
        let before = try bench.listed

        let (result, differences) = try await verify(bench)
        let found = Set(differences.map { "\($0.kind.rawValue) \($0.photoID)" })
        #expect(
            found == [
                "not_indexed \(ServerPhotos.photo(20).id)", "not_on_server \(ids[0])", "origin_changed \(ids[1])",
                "changed_on_server \(ids[2])", "copy_orphaned \(ids[0])", "copy_missing \(ids[3])",
                "copy_changed \(ids[4])", "copy_unfinished \(ids[5])", "copy_changed \(ids[6])",
            ]
        )
        #expect(differences.count == 9)
        #expect(result.counts[.copyChanged] == 2)
        #expect(result.counts.values.reduce(0, +) == 9)
        // One of the four finished copies is missing.
        #expect(result.copies == 3)
        #expect(differences.first { $0.kind == .copyUnfinished }?.found == "4 bytes")
        let renamed = try #require(differences.first { $0.kind == .changedOnServer })
        #expect((renamed.expected, renamed.found) == ("IMG_2.jpg", "other.jpg"))

        // The index is unchanged, and no request would have updated the device.
        #expect(try bench.listed == before)
        #expect(bench.server.requests.allSatisfy { $0.device == nil && $0.since == nil })
    }

    /// The database contains photo names, and a process may be killed at any moment.
    @Test func theTemporaryDatabaseOfTheListingHasNoName() async throws {
        let bench = try PullBench(ServerPhotos(3))
        let folders = [NSTemporaryDirectory(), "/var/tmp", bench.directory.path]
        let before = folders.map { Set((try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? []) }
        let live = try await LiveListing.make(of: bench.account)
        for (folder, names) in zip(folders, before) {
            let new = Set(try FileManager.default.contentsOfDirectory(atPath: folder)).subtracting(names)
            #expect(new.filter { $0.contains("listing") || $0.contains("sqlite") || $0.contains("etilqs") }.isEmpty)
        }
        #expect(try live.photos(bench.server.serverPhotos.photos.map(\.id)).count == 3)
    }

    /// A file with the recorded identity is not read, unless that is requested.
    @Test func unchangedFilesAreReadOnDemandOnly() async throws {
        let bench = try await PullBench(ServerPhotos(3)).pulled()
        var copy = try await addCopy(bench, of: ServerPhotos.photo(1).id, "damaged")
        var status = stat()
        #expect(stat(String(decoding: copy.path, as: UTF8.self), &status) == 0)
        copy.identity = FileIdentity(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            modificationNanoseconds: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec),
            changeNanoseconds: Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        )
        try await bench.account.library.keep([copy])
        #expect(try await verify(bench).differences.isEmpty)
        #expect(try await verify(bench, readsContent: true).differences.map(\.kind) == [.copyChanged])
    }

    @Test func withoutACompletePullThereIsNothingToCompare() async throws {
        let bench = try PullBench(ServerPhotos(3))
        await expectFailure(.neverSynchronized) { _ = try await verify(bench) }
        #expect(bench.server.requests.isEmpty)
    }

    @Test func anInconsistentListingIsNotAComparison() async throws {
        let bench = try await PullBench(ServerPhotos(9)).pulled()
        bench.server.change { state in
            state.after = { page, request, _ in
                if request.cursor != nil { page = PhotoPage(photos: [], cursor: nil, hasMore: false, totalCount: 9) }
            }
        }
        await expectFailure(.listingIncomplete) { _ = try await verify(bench) }
    }

    @Test func aStopEndsTheComparison() async throws {
        let bench = try await PullBench(ServerPhotos(9)).pulled()
        let control = TransferControl()
        control.stop()
        let hashes = HashCache(directory: bench.directory.file("cache"))
        await expectFailure(.cancelled) {
            _ = try await Verification(bench.account, hashes: hashes).run(control: control, onDifference: { _ in })
        }
    }
}
