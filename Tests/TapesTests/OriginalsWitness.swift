import Foundation
import Testing

/// Records everything below a directory of originals: names, inodes, links to them, modes, lengths, modification
/// times and every byte. Rule R6 requires that all of it is the same after any operation on tapes and albums.
struct OriginalsWitness {
    /// One entry.
    struct Trace: Equatable {
        var device: UInt64
        var inode: UInt64
        var mode: UInt32
        var names: UInt64
        var size: Int64
        var modifiedSeconds: Int
        var modifiedNanoseconds: Int
        /// Content of a file; target of a link.
        var content: [UInt8]
    }

    /// The directory, as bytes.
    let directory: [UInt8]
    private let before: [[UInt8]: Trace]

    /// Reads everything below a directory.
    init(_ directory: String) throws {
        self.directory = Array(directory.utf8)
        before = try Self.traces(below: self.directory)
    }

    /// Expects that nothing was added, removed or changed.
    func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let after = try Self.traces(below: directory)
        for path in Set(before.keys).union(after.keys) {
            let name = String(decoding: path, as: UTF8.self)
            #expect(before[path] == after[path], "\(name)", sourceLocation: sourceLocation)
        }
    }

    private static func traces(below directory: [UInt8]) throws -> [[UInt8]: Trace] {
        var traces: [[UInt8]: Trace] = [:]
        for name in try names(in: directory) {
            let path = directory + Array("/".utf8) + name
            let trace = try trace(of: path)
            traces[path] = trace
            if trace.mode & S_IFMT == S_IFDIR { traces.merge(try Self.traces(below: path)) { $1 } }
        }
        return traces
    }

    private static func trace(of path: [UInt8]) throws -> Trace {
        var status = stat()
        try #require(lstat(cString(path), &status) == 0)
        let isFile = status.st_mode & S_IFMT == S_IFREG
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        return Trace(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            mode: status.st_mode,
            // The link count of a directory counts its subdirectories, which are in the list.
            names: isFile ? UInt64(status.st_nlink) : 0,
            size: isFile ? Int64(status.st_size) : 0,
            modifiedSeconds: status.st_mtim.tv_sec,
            modifiedNanoseconds: status.st_mtim.tv_nsec,
            content: isFile ? try content(of: path) : isLink ? link(path) : []
        )
    }

    private static func content(of path: [UInt8]) throws -> [UInt8] {
        let descriptor = open(cString(path), O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return try handle.readToEnd().map(Array.init) ?? []
    }

    private static func link(_ path: [UInt8]) -> [UInt8] {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(cString(path), &bytes, bytes.count)
        return bytes[..<max(0, count)].map(UInt8.init(bitPattern:))
    }

    private static func names(in directory: [UInt8]) throws -> [[UInt8]] {
        let stream = try #require(opendir(cString(directory)))
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
        return names
    }

    private static func cString(_ bytes: [UInt8]) -> [CChar] { bytes.map(CChar.init(bitPattern:)) + [0] }
}
