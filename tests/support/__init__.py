"""What tests are drawn with: session drawings, whole homes and fakes; no product code and no tests of it."""
