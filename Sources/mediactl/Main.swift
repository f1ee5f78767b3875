import Dispatch
import Foundation
import MediaCLI

@main
enum Main {
    // Not `async`: the main queue of an asynchronous `main` opens descriptors before the first statement.
    static func main() {
        Program.prepareProcess()
        // A pool of threads that cannot grow would wait for ever.
        if let code = Program.refuseTooFewResources() { _exit(code) }
        Task {
            let code = await Program.run()
            fflush(nil)
            // Not `exit`: its handlers, OpenSSL's among them, take away what threads that still run are using.
            _exit(code)
        }
        dispatchMain()
    }
}
