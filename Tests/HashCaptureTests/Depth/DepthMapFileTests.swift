import CaptureSubmission
import Foundation
import HashCapture
import TestSupport
import Testing

/// Files in four formats, written by `fixtures/depth-files/make.py` with numpy, ffmpeg and zlib.
@Suite("depth map files")
struct DepthMapFileTests {
    static let directory = Repository.path("fixtures/depth-files") + "/"

    /// 0.5 + row + column / 8, with a hole at the end of the second row.
    static let scene: [Float] = (0..<20).map { (index: Int) -> Float in
        let (row, column) = (Float(index / 5), Float(index % 5))
        return index == 9 ? 0 : 0.5 + row + column / 8
    }

    static func read(_ name: String, _ layout: DepthMapFile.Layout = .init()) throws(CaptureError) -> DepthMap {
        try DepthMapFile.read(Array((directory + name).utf8), layout: layout)
    }

    /// Reads a file with these bytes.
    static func read(_ bytes: [UInt8], _ layout: DepthMapFile.Layout = .init()) throws -> DepthMap {
        let home = try TemporaryDirectory()
        let path = try home.write("map", bytes)
        return try DepthMapFile.read(Array(path.utf8), layout: layout)
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory + name)))
    }

    /// The error message for some bytes; empty if there is none.
    static func complaint(_ bytes: [UInt8], _ layout: DepthMapFile.Layout = .init()) -> String {
        let error = #expect(throws: CaptureError.self) { try read(bytes, layout) }
        #expect(error?.code == .depthMapInvalid)
        return error?.detail ?? ""
    }

    @Test(
        "NumPy arrays and PFM files in both byte orders",
        arguments: [
            "littlef4.npy", "bigf4.npy", "littlef8.npy", "bigf8.npy", "fortran.npy", "channel.npy", "version2.npy",
            "version3.npy", "little.pfm", "big.pfm",
        ]
    )
    func floats(name: String) throws {
        for layout in [DepthMapFile.Layout(), .init(width: 5, height: 4)] {
            let map = try Self.read(name, layout)

            #expect(map.width == 5)
            #expect(map.height == 4)
            #expect(map.samples == Self.scene)
        }
    }

    @Test("a raw map with the specified size")
    func raw() throws {
        #expect(try Self.read("raw.f32", .init(width: 5, height: 4)).samples == Self.scene)
        let turned = try Self.read("raw.f32", .init(width: 4, height: 5))
        #expect((turned.width, turned.height) == (4, 5))
    }

    @Test(
        "a raw map without a specified size is refused",
        arguments: [
            DepthMapFile.Layout(), .init(width: 256), .init(height: 192),
        ]
    )
    func noSize(layout: DepthMapFile.Layout) {
        // A length for which other programs assume 256×192.
        let detail = Self.complaint([UInt8](repeating: 63, count: 196_608), layout)

        #expect(detail.contains("requires --depth-size"))
    }

    @Test("for a raw map of a different length, the error contains both lengths", arguments: [79, 81, 84, 4])
    func rawLength(count: Int) {
        let detail = Self.complaint([UInt8](repeating: 63, count: count), .init(width: 5, height: 4))

        #expect(detail == "\(count) bytes, expected 80: 20 samples of 4 bytes")
    }

    @Test(
        "a size that contradicts the file is refused",
        arguments: ["littlef4.npy", "little.pfm"],
        [
            DepthMapFile.Layout(width: 4, height: 5), .init(width: 6), .init(height: 3),
        ]
    )
    func contradiction(name: String, layout: DepthMapFile.Layout) {
        let error = #expect(throws: CaptureError.self) { try Self.read(name, layout) }

        #expect(error?.code == .depthMapInvalid)
        #expect(error?.detail.hasPrefix("the map is 5x4, expected ") == true)
    }

    @Test("a scale is accepted only for PNG", arguments: ["littlef4.npy", "little.pfm", "raw.f32"])
    func needlessScale(name: String) {
        let error = #expect(throws: CaptureError.self) { try Self.read(name, .init(width: 5, height: 4, scale: 1)) }

        #expect(error?.detail.contains("scale") == true)
    }

    @Test(
        "a file that is one byte too short or too long is refused",
        arguments: ["littlef4.npy", "bigf8.npy", "little.pfm"]
    )
    func exactLength(name: String) throws {
        let whole = try Self.bytes(name)

        #expect(Self.complaint(whole.dropLast()).contains("\(whole.count - 1) bytes, expected \(whole.count)"))
        #expect(Self.complaint(whole + [0]).contains("\(whole.count + 1) bytes, expected \(whole.count)"))
    }

    @Test(
        "unrealistic sizes use no memory",
        arguments: [
            "1000000000 1000000000", "4294967296 4294967296", "9223372036854775807 2", "100000001 1", "10000 10001",
        ]
    )
    func absurd(size: String) {
        let shape = size.replacing(" ", with: ", ")
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (\(shape)), }\n"

        #expect(Self.complaint(Array("Pf\n\(size)\n-1.0\n".utf8)).contains("samples are supported"))
        #expect(Self.complaint(Self.numPy(header)).contains("samples are supported"))
    }

    @Test("a map of the largest supported size must contain all of its bytes")
    func limit() {
        #expect(Self.complaint(Array("Pf\n10000 10000\n-1.0\n".utf8)).contains("expected 400000020"))
    }

    @Test(
        "invalid PFM headers are refused",
        arguments: [
            ("PF\n5 4\n-1\n", "a color PFM"), ("Pf\n5\n", "no end"), ("Pf\n5 4\n-1", "no end"), ("Pf 0 4 -1 ", "0x4"),
            ("Pf\n-5 -4\n-1\n", "-5x-4"), ("Pf\nfive 4\n-1\n", "three numbers"), ("Pf\n5 4\n0\n", "scale"),
            ("Pf\n5 4\nnan\n", "scale"), ("Pf\n5 4\n-0.001\n", "scale"),
            ("Pf\n99999999999999999999 4\n-1\n", "numbers"),
            ("Pf\n" + String(repeating: " ", count: 300) + "5 4\n-1\n", "no end"),
        ]
    )
    func portableHeaders(text: String, complaint: String) {
        #expect(Self.complaint(Array(text.utf8)).contains(complaint))
    }

    @Test(
        "arrays that are not a map are refused",
        arguments: [
            ("integers.npy", "type"), ("flat.npy", "shape"), ("structured.npy", "invalid NPY header"),
        ]
    )
    func otherArrays(name: String, complaint: String) throws {
        #expect(Self.complaint(try Self.bytes(name)).contains(complaint))
    }

    @Test(
        "invalid NPY headers are refused",
        arguments: [
            "", "{", "{}", "}{", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5)",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (4, 5)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5), 'more': True}",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4, 5)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5, 1, 1)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -5)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0)}",
            "{'descr': (<f4), 'fortran_order': False, 'shape': (4, 5)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': '4, 5'}",
            "{'descr': '|f4', 'fortran_order': False, 'shape': (4, 5)}", "{'descr: '<f4', 'fortran_order': False}",
            "{'}",
            "{'descr': '", "{'descr': (", "{'descr':}", "{\u{0}}", "{,}",
        ]
    )
    func numPyHeaders(header: String) {
        #expect(!Self.complaint(Self.numPy(header) + [UInt8](repeating: 0, count: 80)).isEmpty)
    }

    @Test(
        "NPY headers in any valid form are accepted",
        arguments: [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5), }\n",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 5)}",
            "{'shape':(4,5),'fortran_order':False,'descr':'<f4'}",
            " { \"descr\" : \"<f4\" ,\n \"fortran_order\" : False , 'shape' : ( 4, 5, ) } ",
        ]
    )
    func otherNumPyHeaders(header: String) throws {
        let map = try Self.read(Self.numPy(header) + [UInt8](repeating: 0, count: 80))
        #expect((map.width, map.height) == (5, 4))
    }

    @Test(
        "an NPY header that claims more data than the file has is refused",
        arguments: [
            [1, 0, 0xFF, 0xFF], [2, 0, 0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 1, 0], [4, 0, 1, 0], [1], [],
        ] as [[UInt8]]
    )
    func numPyLengths(rest: [UInt8]) {
        #expect(Self.complaint([0x93] + Array("NUMPY".utf8) + rest).contains("NPY"))
    }

    @Test(
        "files that cannot be read are reported",
        arguments: [
            ("/nowhere/map.npy", OutcomeCode.fileNotFound), ("/dev/null", .notRegularFile),
            ("/", .notRegularFile),
        ]
    )
    func noFile(path: String, code: OutcomeCode) {
        let error = #expect(throws: CaptureError.self) { try DepthMapFile.read(Array(path.utf8), layout: .init()) }

        #expect(error?.code == code)
    }

    /// An NPY file of version 1 with any header.
    static func numPy(_ header: String) -> [UInt8] {
        let text = Array(header.utf8)
        return [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(text.count & 0xFF), UInt8(text.count >> 8)] + text
    }
}
