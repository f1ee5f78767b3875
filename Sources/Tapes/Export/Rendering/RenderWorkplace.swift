internal import Foundation
internal import MediaFiles

/// Where a video is made: a private directory beside the target for its parts, the draft of the whole beside it, and a
/// directory of links to the originals among the system's temporary files, since the target's disk may know no links.
///
/// The links have names of ours, so that no name of the user's ever reaches ffmpeg: not one that looks like an option, a
/// protocol or a pattern, nor one that is no text. Originals are only read, through them.
struct RenderWorkplace: Sendable {
    /// A directory of this process alone.
    private struct Private: Sendable {
        var parent: TargetDirectory
        var name: String
        var directory: TargetDirectory

        init(in parent: TargetDirectory, _ name: String) throws(FileWriteError) {
            guard let directory = try parent.makePrivateSubdirectory(name) else {
                throw FileWriteError(.unsafe, path: parent.path(of: Array(name.utf8)))
            }
            (self.parent, self.name, self.directory) = (parent, name, directory)
        }

        /// Removes it with the files and links in it.
        func remove() {
            var names: [[UInt8]] = []
            try? directory.forEachName { names.append($0) }
            for name in names { try? directory.remove(name) }
            try? parent.removeDirectory(Array(name.utf8))
        }
    }

    private let parts: Private
    private let links: Private
    private let draft: PartialFile

    /// Makes everything that `remove` takes away again. Blocks.
    init(beside parent: TargetDirectory) throws(FileWriteError) {
        let name = ".mediactl-render-\(UUID().uuidString.lowercased())"
        let temporary = Array(NSTemporaryDirectory().utf8)
        guard let system = try TargetDirectory.open(temporary, creating: false) else {
            throw FileWriteError(.unsafe, path: temporary)
        }
        let parts = try Private(in: parent, name)
        do throws(FileWriteError) {
            let links = try Private(in: system, name)
            do throws(FileWriteError) {
                draft = try PartialFile.open("\(name).part", in: parent)
            } catch {
                links.remove()
                throw error
            }
            self.links = links
        } catch {
            parts.remove()
            throw error
        }
        self.parts = parts
    }

    /// Where ffmpeg begins, and puts parts.
    var directory: TargetDirectory { parts.directory }

    /// The draft of the whole, seen from there.
    var draftName: String { "../\(String(decoding: draft.name, as: UTF8.self))" }

    /// A link to an original.
    ///
    /// - Parameters:
    ///   - original: Absolute path, as bytes.
    ///   - number: Another for each.
    /// - Returns: The link's path. It has the extension of the original, by which ffmpeg knows some formats, where that is
    ///   nothing but letters and digits.
    /// - Throws: `FileWriteError`.
    func link(to original: [UInt8], number: Int) throws(FileWriteError) -> String {
        let last = original.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last ?? []
        let isTame = last.count <= 8 && last.allSatisfy { Self.letters.contains($0) }
        let name = "\(number)" + (isTame ? ".\(String(decoding: last, as: UTF8.self))" : "")
        let path = links.directory.path(of: Array(name.utf8))
        guard symlink(original.map(CChar.init(bitPattern:)) + [0], path.map(CChar.init(bitPattern:)) + [0]) == 0 else {
            let kind: FileWriteError.Kind = errno == ENOSPC || errno == EDQUOT ? .full : .io(errno: errno)
            throw FileWriteError(kind, path: path)
        }
        return String(decoding: path, as: UTF8.self)
    }

    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)

    /// Writes a file among the parts. Blocks.
    func write(_ text: String, as name: String) throws(FileWriteError) {
        try PartialFile.open(name, in: parts.directory).write(all: Array(text.utf8))
    }

    /// Gives the draft its name, once it is on the disk. Blocks.
    ///
    /// - Parameters:
    ///   - name: In the directory of the target.
    ///   - isReplacing: Whether a file that has the name is replaced.
    /// - Throws: `FileWriteError`; `.exists` when the name is taken.
    func publish(as name: [UInt8], replacing isReplacing: Bool) throws(FileWriteError) {
        _ = try draft.seal(modificationMicroseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        if isReplacing { try draft.publish(replacing: name) } else { try draft.publish(as: name) }
    }

    /// Removes everything but a video that has its name. Blocks.
    func remove() {
        parts.remove()
        links.remove()
        try? draft.discard()
    }
}
