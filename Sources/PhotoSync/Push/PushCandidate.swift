internal import Foundation
internal import Glibc
internal import MediaFiles
internal import MediaStore

/// A file that may be a photo to send.
struct PushCandidate: Sendable {
    /// As it was named or found.
    var path: [UInt8]
    /// Whether the user named it: what is unsuitable then is a failure, while a walk passes over it.
    var isNamed: Bool

    /// Extensions that servers take, in lower case (photosync contract 3.2).
    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "gif", "webp", "heic", "heif"]

    /// The last component. What is no UTF-8 in it becomes U+FFFD, since the server's names are text.
    var fileName: String {
        String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    /// Why the server would not take it, as far as its name tells.
    var objection: PhotoSyncError? {
        let pathExtension = MediaType.pathExtension(of: fileName).lowercased()
        guard !Self.extensions.contains(pathExtension) else { return nil }
        return PhotoSyncError(.unknownExtension, path: path, value: pathExtension)
    }

    /// Why the server would not take a file of that length.
    func objection(toBytes byteCount: Int64, maximum: Int64) -> PhotoSyncError? {
        if byteCount == 0 { return PhotoSyncError(.emptyFile, path: path) }
        guard byteCount > maximum else { return nil }
        return PhotoSyncError(.fileTooLarge, path: path, value: String(byteCount), limit: maximum)
    }

    /// How a file ends that was never tried.
    func refused(_ error: PhotoSyncError, sizeBytes: Int64? = nil) -> PushItem {
        PushItem(path: path, state: isNamed ? .failed : .skipped, sizeBytes: sizeBytes, error: error)
    }

    /// The path from the root, without `.` and empty components; `..` stays, since what lies before it may be a link.
    var absolutePath: [UInt8] {
        let slash = UInt8(ascii: "/")
        let start = path.first == slash ? [] : Self.workingDirectory
        let components = (start + [slash] + path).split(separator: slash).filter { $0 != [UInt8(ascii: ".")] }
        return components.reduce(into: []) { $0 += [slash] + $1 }
    }

    private static var workingDirectory: [UInt8] {
        guard let path = getcwd(nil, 0) else { return [] }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }
}

/// What a push has to deal with.
struct PushPlan: Sendable {
    /// Files to hash, each path once.
    var candidates: [PushCandidate] = []
    /// What needs no further look.
    var ended: [PushItem] = []

    /// Looks at the paths, and walks directories, on a thread of its own.
    static func make(_ paths: [[UInt8]], options: Push.Options) async -> PushPlan {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var plan = PushPlan()
                var walked: Set<[UInt8]> = []
                for path in paths where walked.insert(path).inserted { plan.add(path, options) }
                plan.removeRepeats(isNeeded: walked.count > 1)
                continuation.resume(returning: plan)
            }
        }
    }

    private mutating func add(_ path: [UInt8], _ options: Push.Options) {
        guard FileWalk.isDirectory(path) else {
            add(PushCandidate(path: path, isNamed: true), byteCount: nil, options)
            return
        }
        guard options.isRecursive else {
            ended.append(
                PushItem(
                    path: path,
                    state: .failed,
                    error: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: path)
                )
            )
            return
        }
        let found = FileWalk(filter: options.filter).files(below: path)
        for file in found.files {
            add(PushCandidate(path: file.path, isNamed: false), byteCount: file.byteCount, options)
        }
        for skipped in found.skipped {
            let error = PhotoSyncError(.fileUnreadable, detail: skipped.reason, path: skipped.path)
            ended.append(PushItem(path: skipped.path, state: .failed, error: error))
        }
    }

    private mutating func add(_ candidate: PushCandidate, byteCount: Int64?, _ options: Push.Options) {
        let byteCount = byteCount ?? FileIdentity(ofRegularFile: candidate.path)?.size
        // A file that cannot be looked at has another fault than its name.
        let byName = candidate.isNamed && byteCount == nil ? nil : candidate.objection
        let bySize = byteCount.flatMap { candidate.objection(toBytes: $0, maximum: options.maximumBytes) }
        if let objection = byName ?? bySize {
            ended.append(candidate.refused(objection, sizeBytes: byteCount))
        } else {
            candidates.append(candidate)
        }
    }

    /// A file that is named, and found again below a directory that is named too, is one file.
    private mutating func removeRepeats(isNeeded: Bool) {
        guard isNeeded else { return }
        var seen: Set<[UInt8]> = []
        candidates = candidates.filter { seen.insert($0.path).inserted }
    }
}
