import CaptureSubmission
import Foundation
import HashCapture
import TestSupport
import Testing

/// Damaged files result in a map or in a reported error, never in a crash.
@Suite("damaged depth map files")
struct DepthMapDamageTests {
    #if ImageLibraries
        static let images = ["ffmpeg.png", "interlaced.png"]
    #else
        static let images: [String] = []
    #endif
    static let names = ["littlef4.npy", "fortran.npy", "little.pfm"] + images

    @Test("files truncated at any byte", arguments: names)
    func truncated(name: String) throws {
        let damaged = try DamagedFile(DepthMapFileTests.bytes(name))
        for count in (0..<damaged.whole.count).reversed() {
            try damaged.handle.truncate(atOffset: UInt64(count))
            #expect(throws: CaptureError.self, "\(count) bytes") { try damaged.read() }
        }
    }

    @Test("files with changed bits and bytes", arguments: names)
    func changed(name: String) throws {
        let damaged = try DamagedFile(DepthMapFileTests.bytes(name))
        var chance = DepthPropertyTests.Chance(seed: 4)
        for (position, byte) in damaged.whole.enumerated() {
            for flip in [0x01, 0x80, UInt8.random(in: 1...255, using: &chance)] {
                try damaged.put(byte ^ flip, at: position)
                // A sample may have changed; the size must not change without the length.
                guard let map = try? damaged.read() else { continue }
                #expect(map.samples.count == 20)
                _ = DepthAnalyzer.analyze(map)
            }
            try damaged.put(byte, at: position)
        }
        #expect(try damaged.read().samples == DepthMapFileTests.read(name, damaged.layout).samples)
    }

    /// A file that is changed in place.
    struct DamagedFile {
        let whole: [UInt8]
        let handle: FileHandle
        let layout: DepthMapFile.Layout
        private let home: TemporaryDirectory
        private let path: String

        init(_ bytes: [UInt8]) throws {
            whole = bytes
            layout = .init(scale: bytes.starts(with: [0x89]) ? 0.001 : nil)
            home = try TemporaryDirectory()
            path = home.file("map")
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        }

        func put(_ byte: UInt8, at position: Int) throws {
            try handle.seek(toOffset: UInt64(position))
            try handle.write(contentsOf: [byte])
        }

        func read() throws(CaptureError) -> DepthMap {
            try DepthMapFile.read(Array(path.utf8), layout: layout)
        }
    }
}
