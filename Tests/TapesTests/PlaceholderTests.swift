import Tapes
import Testing

@Suite struct TapesModuleTests {
    @Test func formatsHaveExtensions() { #expect(TapeExport.m3u8.fileExtension == ".m3u8") }
}
