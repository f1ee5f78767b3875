import Testing
import Tus

@Suite("tus answers") struct TusAnswersTests {
    @Test("Extensions have the names of the protocol")
    func extensionNames() {
        #expect(TusFeatures.Extension(rawValue: "creation-with-upload") == .creationWithUpload)
    }
}
