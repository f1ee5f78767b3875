import CaptureSubmission
import HashCapture
import TestSupport
import Testing

/// Depth maps in PNG, written by ffmpeg and zlib.
@Suite("depth map images")
struct DepthImageTests {
    static let names = ["ffmpeg.png", "gamma.png", "interlaced.png"]

    #if ImageLibraries
        @Test("samples are units times the scale, regardless of the image's gamma and passes", arguments: names)
        func samples(name: String) throws {
            for layout in [DepthMapFile.Layout(scale: 0.001), .init(width: 5, height: 4, scale: 0.001)] {
                let map = try DepthMapFileTests.read(name, layout)

                #expect((map.width, map.height) == (5, 4))
                // 500, 625, … millimeters.
                #expect(map.samples == DepthMapFileTests.scene.map { Float(Double($0 * 1000) * 0.001) })
            }
        }

        @Test("a valid scale is required", arguments: [nil, 0, -0.001, .nan, .infinity] as [Double?])
        func scale(scale: Double?) {
            let error = #expect(throws: CaptureError.self) {
                try DepthMapFileTests.read("ffmpeg.png", .init(scale: scale))
            }

            #expect(error?.code == .depthMapInvalid)
            #expect(error?.detail.contains("scale") == true)
        }

        @Test("other images are refused", arguments: ["ffmpeg-grey8.png", "ffmpeg-rgb48.png"])
        func others(name: String) {
            let error = #expect(throws: CaptureError.self) { try DepthMapFileTests.read(name, .init(scale: 1)) }

            #expect(error?.code == .depthMapInvalid)
            #expect(error?.detail.contains("16-bit") == true)
        }

        @Test("a size that contradicts the image is refused")
        func contradiction() {
            let error = #expect(throws: CaptureError.self) {
                try DepthMapFileTests.read("ffmpeg.png", .init(width: 4, height: 5, scale: 1))
            }

            #expect(error?.detail == "the map is 5x4, expected 4x5")
        }

        @Test("bytes after the end are refused")
        func trailing() throws {
            let detail = DepthMapFileTests.complaint(try DepthMapFileTests.bytes("ffmpeg.png") + [0], .init(scale: 1))

            #expect(detail.contains("bytes follow its end"))
        }

        @Test(
            "a small image that claims a large size uses no memory",
            arguments: [
                (1_000_000_000, 1_000_000_000, "cannot be read"), (0x7FFF_FFFF, 1, "cannot be read"),
                (100_000, 100_000, "samples are supported"), (10_000, 10_000, "cannot contain 10000x10000"),
                (0, 4, "cannot be read"),
            ] as [(UInt32, UInt32, String)]
        )
        func absurd(width: UInt32, height: UInt32, complaint: String) throws {
            var image = try DepthMapFileTests.bytes("ffmpeg.png")
            // Width and height follow signature, length and name; the checksum is the header's.
            image.replaceSubrange(16..<24, with: Self.bigEndian(width) + Self.bigEndian(height))
            image.replaceSubrange(29..<33, with: Self.bigEndian(Self.checksum(image[12..<29])))

            let detail = DepthMapFileTests.complaint(image, .init(scale: 1))

            #expect(detail.contains(complaint))
            #expect(!detail.contains("CRC"))
        }

        @Test("a small image that claims a long chunk uses no memory", .measuresMemory)
        func longChunk() async {
            await #expect(processExitsWith: .success) {
                var image = try DepthMapFileTests.bytes("ffmpeg.png")
                // Everything after the header becomes the start of a text chunk of this length, which is not needed.
                image.replaceSubrange(33..., with: Self.bigEndian(0x7800_000D) + Array("tEXt".utf8))
                let before = try ProcessMemory.bytes("VmPeak")

                _ = DepthMapFileTests.complaint(image, .init(scale: 1))

                #expect(try ProcessMemory.bytes("VmPeak") - before < 512 << 20)
            }
        }

        private static func bigEndian(_ number: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }

        /// CRC-32 as defined by PNG.
        private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            ~bytes.reduce(~0) { state, byte in
                (0..<8).reduce(state ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
            }
        }
    #else
        @Test("a build without libpng is reported", arguments: names)
        func missing(name: String) {
            let error = #expect(throws: CaptureError.self) { try DepthMapFileTests.read(name, .init(scale: 0.001)) }

            #expect(error?.code == .imageLibrariesMissing)
        }
    #endif
}
